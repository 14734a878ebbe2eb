import type { RawJson, RawText } from './conversation.ts';

/** Writes a text as the content of a JSON string. */
export function toRawText(text: string): RawText {
  return JSON.stringify(text).slice(1, -1);
}

export function fromRawText(raw: RawText): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** Quotes a text; `null` stays `null`. */
export function quoted(text: RawText): RawJson;
export function quoted(text: RawText | null): RawJson | null;
export function quoted(text: RawText | null): RawJson | null {
  return text === null ? null : `"${text}"`;
}

/** The arguments of a call as a JSON object, exactly as they were written; `null` if they are none. */
export function objectOf(args: string): RawJson | null {
  if (args.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(args);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? args : null;
  } catch {
    return null;
  }
}

/** Wraps arguments that are no JSON object, for protocols that have no other place for them. */
export function wrapped(args: string): RawJson {
  return JSON.stringify({ arguments: args });
}
