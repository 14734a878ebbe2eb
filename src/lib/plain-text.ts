/**
 * Characters that a terminal or a page interprets instead of showing: control characters (C0, DEL, C1), line and paragraph
 * separators, and marks that change the direction of writing. A name with one of these can clear the screen of an operator
 * who lists it, or look like a row of its own.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EVERY_OBEYED = new RegExp(OBEYED, 'gu');
const EVERY_OBEYED_IN_LINES = /[[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]--\n]/gv;

/** Whether the text has none of these characters. */
export function isPlainText(text: string): boolean {
  return !OBEYED.test(text);
}

/** The text in one line, with escapes such as `\u001b` instead of these characters. */
export function escapeText(text: string): string {
  return text.replace(EVERY_OBEYED, escapeOf);
}

/** As `escapeText`, for text of several lines. */
export function escapeLines(text: string): string {
  return text.replace(EVERY_OBEYED_IN_LINES, escapeOf);
}

/**
 * As `escapeLines`, for a JSON text: JSON requires fewer escapes than a terminal. Its line breaks are between values; all
 * other characters that are escaped here are in strings, where the escape means the same character.
 */
export function escapeJson(json: string): string {
  // Fast path: most JSON is ASCII, in which JSON has escaped everything but DEL.
  const isAscii = Buffer.byteLength(json) === json.length;
  return isAscii && !json.includes('\u007f') ? json : escapeLines(json);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Whether PostgreSQL can store the text: it has no NUL and no unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
