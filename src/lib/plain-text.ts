/**
 * Characters that a terminal or a page interprets: control characters (C0, DEL, C1), line and paragraph separators, and marks of writing
 * direction. With them, a name could clear an operator's screen, or look like another row of a list.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EVERY_OBEYED = new RegExp(OBEYED, 'gu');
const EVERY_OBEYED_IN_LINES = /[[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]--\n]/gv;

export function isPlainText(text: string): boolean {
  return !OBEYED.test(text);
}

/** Returns one line of text, with escapes such as `\u001b` for characters that a terminal or a page interprets. */
export function escapeText(text: string): string {
  return text.replace(EVERY_OBEYED, escapeOf);
}

/** Like `escapeText`, but keeps line breaks. */
export function escapeLines(text: string): string {
  return text.replace(EVERY_OBEYED_IN_LINES, escapeOf);
}

/** Escapes JSON like `escapeLines`. All such characters are in strings, where the escape means the same character. */
export function escapeJson(json: string): string {
  // Fast path: in JSON that is ASCII, only DEL needs an escape.
  const isAscii = Buffer.byteLength(json) === json.length;
  return isAscii && !json.includes('\u007f') ? json : escapeLines(json);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Whether PostgreSQL can store the text, which must contain neither NUL nor an unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
