import type { FillRandom } from '../../lib/ids.ts';
import { createSecretText, hashSecretText, isSecretText, shownPrefix } from '../../lib/secret-text.ts';

export const KEY_PREFIX = 'sk-fg-';

export function createApiKey(fillRandom: FillRandom): string {
  return createSecretText(KEY_PREFIX, fillRandom);
}

/** Checks the format of a key created by the gateway, including the checksum. */
export function isApiKey(text: string): boolean {
  return isSecretText(KEY_PREFIX, text);
}

/** Maximum length of an imported key. */
const IMPORTED_CHARS_MAX = 200;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Whether a key might be an imported key, which does not have the format of keys created by the gateway. */
export function mayBeImportedKey(text: string): boolean {
  return text.length <= IMPORTED_CHARS_MAX && !text.startsWith(KEY_PREFIX) && VISIBLE.test(text);
}

/** Returns the SHA-256 hash of a key. Only the hash is stored, and keys are looked up by it. */
export function hashApiKey(key: string): Buffer {
  return hashSecretText(key);
}

/**
 * Returns the beginning of a key that lists show, such as `sk-fg-Ab12…`. Imported keys can be short, so at most a third of them is shown.
 */
export function displayPrefix(key: string): string {
  if (key.startsWith(KEY_PREFIX)) return shownPrefix(KEY_PREFIX, key);
  return `${key.slice(0, Math.min(Math.floor(key.length / 3), IMPORTED_SHOWN_CHARS_MAX))}…`;
}

/** Length of `sk-` and four more characters. */
const IMPORTED_SHOWN_CHARS_MAX = 7;
