import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FillRandom } from './ids.ts';

/**
 * A secret has a prefix for its purpose, 32 random characters (190 bits) and a checksum of 6. By the checksum, mistyped secrets are
 * detected without a database query, and secret scanners recognize secrets.
 */
const RANDOM_CHARS = 32;
const CHECKSUM_CHARS = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BEHIND_PREFIX = /^[0-9A-Za-z]{38}$/;

/** Creates a secret. Random bytes above 247 are skipped, so that all 62 characters are equally likely. */
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

/** Whether a text has this prefix, the right length and the right checksum. */
export function isSecretText(prefix: string, text: string): boolean {
  if (text.length !== prefix.length + RANDOM_CHARS + CHECKSUM_CHARS || !text.startsWith(prefix)) return false;
  const rest = text.slice(prefix.length);
  return BEHIND_PREFIX.test(rest) && rest.endsWith(checksum(rest.slice(0, RANDOM_CHARS)));
}

/** Returns the SHA-256 hash, which is stored instead of the secret. */
export function hashSecretText(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Number of random characters of a secret that lists show. */
export const SHOWN_CHARS = 4;

/** Returns the beginning of a secret, which lists show: `sk-fg-Ab12…`. */
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
