/**
 * The inside of a JSON string as bytes: how far its plain text and its escapes reach, and its value. They return `NONE`
 * if there is no such end. Callers in hot loops were measured: `bench/json-scan.ts`.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NONE = -1;

/** A table, because three comparisons a byte were slower on prose full of escapes. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < 0x20 ? 1 : 0,
);

/** Whether a byte is not plain text of a string. */
export function isSpecial(byte: number): boolean {
  return SPECIAL[byte] === 1;
}

/** Where from `start` on the first byte stands that is not plain text of a string, or the end of the chunk. */
export function skipPlain(chunk: Buffer, words: Int32Array, firstWord: number, start: number): number {
  const end = chunk.length;
  let at = start;
  while (at < end && ((at - firstWord) & 3) !== 0) {
    if (SPECIAL[chunk[at]!] === 1) return at;
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
  while (at < end && SPECIAL[chunk[at]!] === 0) at++;
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
