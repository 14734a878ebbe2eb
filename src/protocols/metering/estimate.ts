/** This file estimates tokens by size. Tokenization would be too slow for the text of every stream. */

/** Average bytes per token: English has 4 to 5, code and JSON 3 to 5, Chinese 4 (UTF-8). */
const BYTES_PER_TOKEN = 4;

export function estimateTokens(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BYTES_PER_TOKEN);
}

const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_U = 0x75;
const LETTER_A = 0x61;
const LETTER_D = 0x64;
const LETTER_F = 0x66;
const LOWER_CASE = 0x20;
const ZERO = 0x30;
const EIGHT = 0x38;
const NINE = 0x39;
const LF = 0x0a;
const CR = 0x0d;
const DATA = Buffer.from('data:');

/** Returns the offset of the value of a key; -1 if no colon follows. Data of an event can continue on another `data:` line. */
export function valueStart(bytes: Buffer, keyEnd: number): number {
  // Fast path for the format of nearly all vendors.
  if (bytes[keyEnd] === COLON && bytes[keyEnd + 1]! > SPACE) return keyEnd + 1;
  const colon = skipSpace(bytes, keyEnd);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : -1;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    while (at < bytes.length && bytes[at]! <= SPACE) at++;
    if (at === from || !isFurtherData(bytes, at)) return at;
    at += DATA.length;
  }
}

function isFurtherData(bytes: Buffer, at: number): boolean {
  if (bytes[at - 1] !== LF && bytes[at - 1] !== CR) return false;
  return bytes.length - at >= DATA.length && DATA.compare(bytes, at, at + DATA.length) === 0;
}

/** Returns the size of a JSON string's text in UTF-8. Some vendors escape all characters outside ASCII. */
export function decodedSize(bytes: Buffer, start: number, end: number): number {
  let size = 0;
  for (let at = start; at < end; ) {
    if (bytes[at] !== BACKSLASH) {
      size++;
      at++;
      continue;
    }
    const length = escapeLength(bytes, at);
    if (at + length <= end) size += length === UNICODE_ESCAPE ? utf8Size(bytes, at + 2) : 1;
    at += length;
  }
  return size;
}

const UNICODE_ESCAPE = 6;

/** Returns the length of the escape at an offset. It can be longer than the text received so far. */
export function escapeLength(bytes: Buffer, at: number): number {
  if (bytes[at + 1] !== LETTER_U) return 2;
  for (let i = at + 2; i < Math.min(at + UNICODE_ESCAPE, bytes.length); i++) if (!isHexDigit(bytes[i]!)) return 2;
  return UNICODE_ESCAPE;
}

function isHexDigit(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || ((byte | LOWER_CASE) >= LETTER_A && (byte | LOWER_CASE) <= LETTER_F);
}

/** Returns the size in UTF-8 of a character given as four hex digits. Each half of a surrogate pair counts as two bytes. */
function utf8Size(bytes: Buffer, at: number): number {
  const isTwoBytes = bytes[at] === ZERO && bytes[at + 1]! < EIGHT;
  if (isTwoBytes) return bytes[at + 1] === ZERO && bytes[at + 2]! < EIGHT ? 1 : 2;
  const isHalf = (bytes[at]! | LOWER_CASE) === LETTER_D && bytes[at + 1]! >= EIGHT;
  return isHalf ? 2 : 3;
}
