/**
 * The inside of a JSON string as bytes: how far its plain text and its escapes reach, and its value. They return `NONE`
 * if there is no such end. Callers in hot loops were measured: `bench/json-scan.ts`.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const NONE = -1;

/** The bytes that are not plain text of a string. A table, because three comparisons a byte were slower on prose full of escapes. */
export const SPECIAL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < 0x20 ? 1 : 0,
);
/** The bytes that are read one by one before reading by words pays. */
const SHORT_BYTES = 32;
const NO_WORDS: Int32Array = new Int32Array(0);

/** Finds the ends of plain texts in one chunk after the other. */
export class PlainTexts {
  /** The chunk in words, and where in it they begin. */
  #words = NO_WORDS;
  #firstWord = NONE;

  /** Where from `start` on the first byte stands that is not plain text of a string, or the end of the chunk. */
  endFrom(chunk: Buffer, start: number): number {
    const near = Math.min(chunk.length, start + SHORT_BYTES);
    let at = start;
    while (at < near && SPECIAL_BYTES[chunk[at]!] === 0) at++;
    if (at < near || at === chunk.length) return at;
    if (this.#firstWord === NONE) {
      this.#firstWord = -chunk.byteOffset & 3;
      const words = (chunk.length - this.#firstWord) >> 2;
      if (words > 0) this.#words = new Int32Array(chunk.buffer, chunk.byteOffset + this.#firstWord, words);
    }
    return skipPlain(chunk, this.#words, this.#firstWord, at);
  }

  /** The next call is about another chunk. */
  letGo(): void {
    this.#words = NO_WORDS;
    this.#firstWord = NONE;
  }
}

/** Where from `start` on the first byte stands that is not plain text of a string, or the end of the chunk. */
export function skipPlain(chunk: Buffer, words: Int32Array, firstWord: number, start: number): number {
  const end = chunk.length;
  let at = start;
  while (at < end && ((at - firstWord) & 3) !== 0) {
    if (SPECIAL_BYTES[chunk[at]!] === 1) return at;
    at++;
  }
  // Four bytes at a time. A byte minus n borrows into its top bit if it is below n; turning bit 1 over first brings
  // the quote (0x22) below 0x21 without the space and the exclamation mark.
  let word = (at - firstWord) >> 2;
  while (word < words.length) {
    const bytes = words[word]!;
    const low = (bytes ^ 0x02020202) - 0x21212121;
    const backslash = (bytes ^ 0x5c5c5c5c) - 0x01010101;
    if (((low | backslash) & ~bytes & 0x80808080) !== 0) break;
    word++;
  }
  at = firstWord + 4 * word;
  while (at < end && SPECIAL_BYTES[chunk[at]!] === 0) at++;
  return at;
}

/** Where the escape ends whose backslash is at `start`; `NONE` where it is broken or may not end in this chunk. */
export function wholeEscapeEnd(chunk: Buffer, start: number): number {
  if (start + 6 > chunk.length) return NONE;
  const letter = chunk[start + 1]!;
  if (letter !== 0x75) return isEscapeLetter(letter) ? start + 2 : NONE;
  for (let at = start + 2; at < start + 6; at++) if (!isHexDigit(chunk[at]!)) return NONE;
  return start + 6;
}

export function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** The letters behind a backslash, without the `u`. */
export function isEscapeLetter(byte: number): boolean {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

/** Whether ASCII bytes spell the name. */
export function hasBytes(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** The string that stands between the quotes in `bytes[start, end)`, known to be sound, with its escapes resolved. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** What ends a number or a literal. */
const ENDS_WORD = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0,
);

/**
 * Where the comma or the brace stands that follows a member whose key ends at `start`, if its value is a string without escapes, a number
 * or a literal; `NONE` if that takes a second look or more bytes.
 */
export function plainMemberEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== COLON) return NONE;
  let at = start + 1;
  if (bytes[at] === SPACE) at++;
  const first = bytes[at];
  at++;
  if (first === QUOTE) {
    while (at < bytes.length && SPECIAL_BYTES[bytes[at]!] === 0) at++;
    if (bytes[at] !== QUOTE) return NONE;
    at++;
  } else {
    if (first === OPEN_BRACE || first === OPEN_BRACKET) return NONE;
    while (at < bytes.length && ENDS_WORD[bytes[at]!] === 0) at++;
  }
  return bytes[at] === COMMA || bytes[at] === CLOSE_BRACE ? at : NONE;
}

/** Where a string, a number or a literal ends, or the bytes do. */
export function tokenEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  if (bytes[start] === QUOTE) {
    while (at < bytes.length && SPECIAL_BYTES[bytes[at]!] === 0) at++;
    return Math.min(at + 1, bytes.length);
  }
  while (at < bytes.length && ENDS_WORD[bytes[at]!] === 0) at++;
  return at;
}

/** Which of these has the name `bytes[start, end)`; `null`: none. */
export function findNamed<Named extends { readonly name: Buffer }>(
  named: readonly Named[],
  bytes: Buffer,
  start: number,
  end: number,
): Named | null {
  for (const each of named) {
    let at = start;
    if (each.name.length !== end - start) continue;
    while (at < end && bytes[at] === each.name[at - start]) at++;
    if (at === end) return each;
  }
  return null;
}
