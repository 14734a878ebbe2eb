/**
 * Sizes instead of counts, for the two places where no count exists: the hold, before the provider has answered, and a
 * stream that ended without usage facts. By size, not by tokenizer: a hold is needed before every call (design 6).
 */

/** English runs at 4 to 5 bytes a token, code and JSON at 3 to 5, Chinese at 4 (UTF-8). */
const BYTES_PER_TOKEN = 4;

export function estimateTokens(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BYTES_PER_TOKEN);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;

/** The patterns under which a protocol streams text, such as `"content":`, prepared for `countTextBytes`. */
export function textKeys(...names: readonly string[]): readonly Buffer[] {
  return names.map((name) => Buffer.from(`"${name}"`));
}

/**
 * The size of the string values that stand under any of the keys, found by byte search, without parsing. A key inside a
 * string has its quotes escaped, so it does not match.
 */
export function countTextBytes(bytes: Buffer, keys: readonly Buffer[]): number {
  let total = 0;
  for (const key of keys) {
    let at = bytes.indexOf(key);
    while (at !== -1) {
      let next = at + key.length;
      const value = valueStart(bytes, next);
      if (bytes[value] === QUOTE) {
        next = stringEnd(bytes, value + 1);
        total += next - value - 1;
      }
      at = bytes.indexOf(key, next);
    }
  }
  return total;
}

/** The offset of the value of a key that ends at `keyEnd`; -1 where no colon follows, so that it is no key. */
export function valueStart(bytes: Buffer, keyEnd: number): number {
  const colon = skipSpace(bytes, keyEnd);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : -1;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= SPACE) at++;
  return at;
}

/** The offset of the quote that ends the string, or of the end of the bytes. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, bytes.length);
}
