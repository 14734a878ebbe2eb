import type { FillRandom } from '../../lib/ids.ts';
import { createSecretText, hashSecretText, isSecretText, shownPrefix } from '../../lib/secret-text.ts';

export const KEY_PREFIX = 'sk-fg-';

export function createApiKey(fillRandom: FillRandom): string {
  return createSecretText(KEY_PREFIX, fillRandom);
}

/** Checks the format and the checksum of a key created by the gateway. */
export function isApiKey(text: string): boolean {
  return isSecretText(KEY_PREFIX, text);
}

const IMPORTED_CHARS_MAX = 200;
const VISIBLE = /^[\x21-\x7e]+$/;

export function mayBeImportedKey(text: string): boolean {
  return text.length <= IMPORTED_CHARS_MAX && !text.startsWith(KEY_PREFIX) && VISIBLE.test(text);
}

/** Only the SHA-256 hash of a key is stored. */
export function hashApiKey(key: string): Buffer {
  return hashSecretText(key);
}

/** The beginning of a key, such as `sk-fg-Ab12…`, which lists show. Of an imported key, which may be short, it is at most a third. */
export function displayPrefix(key: string): string {
  if (key.startsWith(KEY_PREFIX)) return shownPrefix(KEY_PREFIX, key);
  return `${key.slice(0, Math.min(Math.floor(key.length / 3), IMPORTED_SHOWN_CHARS_MAX))}…`;
}

/** The length of `sk-` and four more characters. */
const IMPORTED_SHOWN_CHARS_MAX = 7;
