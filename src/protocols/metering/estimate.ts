/**
 * Sizes instead of counts, if no count exists: for output that a provider did not report, and for the prompt of an
 * image edit. By size and not by tokenizer, because the text of every stream is measured.
 */

/** English runs at 4 to 5 bytes a token, code and JSON at 3 to 5, Chinese at 4 (UTF-8). */
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
/** How a further line of an event's data begins. */
const DATA = Buffer.from('data:');

/**
 * The offset of the value of a key that ends at `keyEnd`; -1 if no colon follows, so that it is no key. In a stream
 * the data of an event may go on in another line between any two tokens; the prefix of such a line is no token.
 */
export function valueStart(bytes: Buffer, keyEnd: number): number {
  // As nearly all vendors write it.
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

/**
 * The bytes of UTF-8 that a text within a string stands for: some vendors escape everything that is not ASCII, which would double the
 * estimate of Chinese. Half an escape at the end is not counted.
 */
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

/** The length of an escape, which may reach beyond the end of the text that has come. What stands behind a text decides too. */
export function escapeLength(bytes: Buffer, at: number): number {
  if (bytes[at + 1] !== LETTER_U) return 2;
  for (let i = at + 2; i < Math.min(at + UNICODE_ESCAPE, bytes.length); i++) if (!isHexDigit(bytes[i]!)) return 2;
  return UNICODE_ESCAPE;
}

function isHexDigit(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || ((byte | LOWER_CASE) >= LETTER_A && (byte | LOWER_CASE) <= LETTER_F);
}

/** By the code of a character in four hexadecimal digits; each half of a pair counts half of its four bytes. */
function utf8Size(bytes: Buffer, at: number): number {
  const isTwoBytes = bytes[at] === ZERO && bytes[at + 1]! < EIGHT;
  if (isTwoBytes) return bytes[at + 1] === ZERO && bytes[at + 2]! < EIGHT ? 1 : 2;
  const isHalf = (bytes[at]! | LOWER_CASE) === LETTER_D && bytes[at + 1]! >= EIGHT;
  return isHalf ? 2 : 3;
}
