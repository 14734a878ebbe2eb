import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FillRandom } from '../../lib/ids.ts';

/**
 * An API key is `sk-fg-`, 32 random characters (190 bits) and 6 characters of checksum. The checksum distinguishes a mistyped
 * or cut key from an unknown one without a look-up in the database, and lets secret scanners recognise keys.
 */
export const KEY_PREFIX = 'sk-fg-';
const RANDOM_CHARS = 32;
const CHECKSUM_CHARS = 6;
const KEY_CHARS = KEY_PREFIX.length + RANDOM_CHARS + CHECKSUM_CHARS;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY = /^sk-fg-[0-9A-Za-z]{38}$/;

/** Makes a new key. Bytes beyond the last multiple of 62 are not used, so every character is equally likely. */
export function createApiKey(fillRandom: FillRandom): string {
  const bytes = new Uint8Array(RANDOM_CHARS * 2);
  let secret = '';
  while (secret.length < RANDOM_CHARS) {
    fillRandom(bytes);
    for (const byte of bytes) {
      if (byte < 248 && secret.length < RANDOM_CHARS) secret += ALPHABET[byte % 62];
    }
  }
  return KEY_PREFIX + secret + checksum(secret);
}

/** Whether the text has the form of a key, checksum included. */
export function isApiKey(text: string): boolean {
  if (text.length !== KEY_CHARS || !KEY.test(text)) return false;
  const secret = text.slice(KEY_PREFIX.length, -CHECKSUM_CHARS);
  return text.endsWith(checksum(secret));
}

/** The SHA-256 of a key: all that is stored of it, and what it is found by. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** How many random characters lists show of a key. */
export const SHOWN_CHARS = 4;

/** What lists show of a key, enough to distinguish keys: `sk-fg-Ab12…`. */
export function displayPrefix(key: string): string {
  return `${key.slice(0, KEY_PREFIX.length + SHOWN_CHARS)}…`;
}

function checksum(secret: string): string {
  let rest = crc32(secret);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = ALPHABET[rest % 62]! + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
