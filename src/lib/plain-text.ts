/**
 * Characters that a terminal or a page obeys instead of showing: control characters (C0, DEL, C1), the separators of
 * lines and paragraphs, and marks that change the direction of writing. A name with one of these can clear the screen
 * of an operator who lists it, or look like a row of its own.
 */
const OBEYED = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EVERY_OBEYED = new RegExp(OBEYED, 'gu');
const EVERY_OBEYED_IN_LINES = /[[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]--\n]/gv;

/** Whether every character of the text is shown. */
export function isPlainText(text: string): boolean {
  return !OBEYED.test(text);
}

/** The text in one line, with escapes such as `\u001b` in place of what would be obeyed. */
export function escapeText(text: string): string {
  return text.replace(EVERY_OBEYED, escapeOf);
}

/** As `escapeText`, for text of several lines. */
export function escapeLines(text: string): string {
  return text.replace(EVERY_OBEYED_IN_LINES, escapeOf);
}

/**
 * The same for a JSON text: JSON itself escapes less than a terminal obeys. Its line breaks stand between values, and all
 * else that is escaped here stands in strings, where the escape means the same character.
 */
export function escapeJson(json: string): string {
  // Most of it is ASCII, of which JSON leaves nothing but DEL to escape; that is seen without looking at character after character.
  const isAscii = Buffer.byteLength(json) === json.length;
  return isAscii && !json.includes('\u007f') ? json : escapeLines(json);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Whether PostgreSQL can store the text: it has no zero byte, and no unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
