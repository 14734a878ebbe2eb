import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FillRandom } from './ids.ts';

/**
 * Secrets that the gateway makes: a prefix that says what they are for, 32 random characters (190 bits) and 6 characters of
 * checksum. The checksum distinguishes a mistyped or cut secret from an unknown one without a look-up in the database, and lets
 * secret scanners recognise them.
 */
const RANDOM_CHARS = 32;
const CHECKSUM_CHARS = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BEHIND_PREFIX = /^[0-9A-Za-z]{38}$/;

/** Makes a new secret. Bytes beyond the last multiple of 62 are not used, so every character is equally likely. */
export function createSecretText(prefix: string, fillRandom: FillRandom): string {
  const bytes = new Uint8Array(RANDOM_CHARS * 2);
  let secret = '';
  while (secret.length < RANDOM_CHARS) {
    fillRandom(bytes);
    for (const byte of bytes) {
      if (byte < 248 && secret.length < RANDOM_CHARS) secret += ALPHABET[byte % 62];
    }
  }
  return prefix + secret + checksum(secret);
}

/** Whether the text has the form of a secret with that prefix, checksum included. */
export function isSecretText(prefix: string, text: string): boolean {
  if (text.length !== prefix.length + RANDOM_CHARS + CHECKSUM_CHARS || !text.startsWith(prefix)) return false;
  const rest = text.slice(prefix.length);
  return BEHIND_PREFIX.test(rest) && rest.endsWith(checksum(rest.slice(0, RANDOM_CHARS)));
}

/** The SHA-256 of a secret: all that is stored of it, and what it is found by. */
export function hashSecretText(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** How many random characters lists show of a secret. */
export const SHOWN_CHARS = 4;

/** What lists show of a secret, enough to distinguish several: `sk-fg-Ab12…`. */
export function shownPrefix(prefix: string, text: string): string {
  return `${text.slice(0, prefix.length + SHOWN_CHARS)}…`;
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
