/** This file parses JSON strings as bytes. Its functions run in hot loops, so measure changes with `bench/json-scan.ts`. */
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

/** For each byte value: 1 if it ends plain text in a string. Three comparisons per byte were slower on prose with many escapes. */
export const SPECIAL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < 0x20 ? 1 : 0,
);
/** Up to this many bytes are read one by one; for longer text, reading four at a time is faster. */
const SHORT_BYTES = 32;
const NO_WORDS: Int32Array = new Int32Array(0);

/** Finds the ends of plain text in a series of chunks. */
export class PlainTexts {
  /** View of the chunk as 32-bit integers, from offset `#firstWord` on. */
  #words = NO_WORDS;
  #firstWord = NONE;

  /** Returns the offset of the first byte from `start` on that is not plain text; the end of the chunk if there is none. */
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

  /** Releases the chunk. Must be called before the next chunk. */
  letGo(): void {
    this.#words = NO_WORDS;
    this.#firstWord = NONE;
  }
}

/** Like `PlainTexts.endFrom`. `words`: the chunk as 32-bit integers, from offset `firstWord` on. */
export function skipPlain(chunk: Buffer, words: Int32Array, firstWord: number, start: number): number {
  const end = chunk.length;
  let at = start;
  while (at < end && ((at - firstWord) & 3) !== 0) {
    if (SPECIAL_BYTES[chunk[at]!] === 1) return at;
    at++;
  }
  // Four bytes at a time. Subtracting n sets the top bit of bytes below n. Flipping bit 1 brings the quote below 0x21, unlike 0x20, 0x21.
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

/** Returns the end of the escape whose backslash is at `start`; `NONE` if it is invalid, or may continue in the next chunk. */
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

/** Whether a byte can follow a backslash. `u` is handled elsewhere. */
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

/** Whether `bytes[start, end)` equals a name, which must be ASCII. */
export function hasBytes(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

/** Decodes `bytes[start, end)`, which must be the content of a valid string, without quotes. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

/** For each byte value: 1 if it ends a number or a literal. */
const ENDS_WORD = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0,
);

/**
 * Returns the offset of the comma or brace after a member whose key ends at `start`. `NONE`: more bytes are necessary, or the value is no
 * number, literal, or string without escapes.
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

/** Returns the end of a number, a literal, or a string without escapes; for other values, the end of the bytes. */
export function tokenEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  if (bytes[start] === QUOTE) {
    while (at < bytes.length && SPECIAL_BYTES[bytes[at]!] === 0) at++;
    return Math.min(at + 1, bytes.length);
  }
  while (at < bytes.length && ENDS_WORD[bytes[at]!] === 0) at++;
  return at;
}

/** Finds the entry with the name `bytes[start, end)`. */
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
