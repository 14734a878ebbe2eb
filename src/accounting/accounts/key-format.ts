import type { FillRandom } from '../../lib/ids.ts';
import { createSecretText, hashSecretText, isSecretText, shownPrefix } from '../../lib/secret-text.ts';

/** What an API key begins with. */
export const KEY_PREFIX = 'sk-fg-';

/** Makes a new key. */
export function createApiKey(fillRandom: FillRandom): string {
  return createSecretText(KEY_PREFIX, fillRandom);
}

/** Whether the text has the form of a key, checksum included. */
export function isApiKey(text: string): boolean {
  return isSecretText(KEY_PREFIX, text);
}

/** The SHA-256 of a key: all that is stored of it, and what it is found by. */
export function hashApiKey(key: string): Buffer {
  return hashSecretText(key);
}

/** What lists show of a key, enough to distinguish keys: `sk-fg-Ab12…`. */
export function displayPrefix(key: string): string {
  return shownPrefix(KEY_PREFIX, key);
}
