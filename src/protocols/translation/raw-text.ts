import type { RawJson, RawText } from './conversation.ts';

/** Writes a text as the content of a JSON string. */
export function toRawText(text: string): RawText {
  return JSON.stringify(text).slice(1, -1);
}

export function fromRawText(raw: RawText): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** Whether a text is empty or white space. Many vendors refuse such texts. */
export function isBlank(raw: RawText): boolean {
  return BLANK_START.test(raw) && BLANK.test(fromRawText(raw));
}

/** Most texts end the check here, without being decoded. */
const BLANK_START = /^(?:[\s\\]|$)/;
const BLANK = /^\s*$/;

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
    // UTF-8 cannot express halves of characters, so they become escapes again.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? args.replace(HALVES, toRawText)
      : null;
  } catch {
    return null;
  }
}

const HALVES = /\p{Surrogate}/gu;

/** Wraps arguments that are no JSON object, for protocols that have no other place for them. */
export function wrapped(args: string): RawJson {
  return JSON.stringify({ arguments: args });
}
