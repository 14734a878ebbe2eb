/** Pieces of the checks of strict providers: each one refuses a value as a vendor does. */

export type Json = Readonly<Record<string, unknown>>;
/** Reasoning that the provider gave, by what identifies it. */
export type Issued = ReadonlyMap<string, string>;

class Refused extends Error {}

/** Ends a check with the words of the refusal. */
export function refuse(words: string): never {
  throw new Refused(words);
}

/** Returns the words of the refusal in which a check ended; `null`: it passed. */
export function refusalOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

export function object(value: unknown, path: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(`${path}: expected an object`);
  return value as Json;
}

/** A list with at least one item. */
export function list(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) return refuse(`${path}: expected an array`);
  return value.length === 0 ? refuse(`${path}: expected at least one item`) : value;
}

/** A text that is more than white space. */
export function text(value: unknown, path: string): string {
  if (typeof value !== 'string') return refuse(`${path}: expected a string`);
  return value.trim() === '' ? refuse(`${path}: text content blocks must contain non-whitespace text`) : value;
}

/** Refuses other members. */
export function only(value: Json, path: string, allowed: readonly string[]): void {
  for (const name of Object.keys(value)) {
    if (!allowed.includes(name)) refuse(`${path}.${name}: Extra inputs are not permitted`);
  }
}

export function number(value: unknown, path: string, most: number): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || value < 0 || value > most) refuse(`${path}: must be between 0 and ${most}`);
}

export function whole(value: unknown, path: string): number {
  if (!Number.isInteger(value) || (value as number) < 1) refuse(`${path}: must be a whole number of at least 1`);
  return value as number;
}

export function matching(value: unknown, path: string, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) refuse(`${path}: String should match pattern '${pattern}'`);
  return value as string;
}

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Checks a schema of arguments, which must describe an object. */
export function checkSchema(value: unknown, path: string): void {
  if (object(value, path).type !== 'object') refuse(`${path}: schema must be a JSON Schema of 'type: "object"'`);
}

export function distinct(names: readonly string[], path: string): void {
  if (new Set(names).size !== names.length) refuse(`${path}: names and ids must be unique`);
}
