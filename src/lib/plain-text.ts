/**
 * Characters that a terminal or a page interprets instead of showing: control characters (C0, DEL, C1), line and paragraph separators, and
 * marks that change the direction of writing. A name with such a character can clear the screen of an operator who lists it, or look like a
 * separate row.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EVERY_OBEYED = new RegExp(OBEYED, 'gu');
const EVERY_OBEYED_IN_LINES = /[[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]--\n]/gv;

/** Whether the text contains no characters that a terminal or a page interprets. */
export function isPlainText(text: string): boolean {
  return !OBEYED.test(text);
}

/** Returns the text in one line, with escapes such as `\u001b` for characters that a terminal or a page interprets. */
export function escapeText(text: string): string {
  return text.replace(EVERY_OBEYED, escapeOf);
}

/** Like `escapeText`, for text with several lines. */
export function escapeLines(text: string): string {
  return text.replace(EVERY_OBEYED_IN_LINES, escapeOf);
}

/**
 * Like `escapeLines`, for a JSON text, because JSON requires fewer escapes than a terminal. In JSON, line breaks are between values; all
 * other escaped characters are in strings, where the escape denotes the same character.
 */
export function escapeJson(json: string): string {
  // Fast path: most JSON is ASCII, and in ASCII JSON only DEL still needs an escape.
  const isAscii = Buffer.byteLength(json) === json.length;
  return isAscii && !json.includes('\u007f') ? json : escapeLines(json);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Whether PostgreSQL can store the text, which it can if the text contains neither NUL nor an unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
