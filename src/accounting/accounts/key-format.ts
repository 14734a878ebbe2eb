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

/** The longest key of another program that is looked up. */
const IMPORTED_CHARS_MAX = 200;
const VISIBLE = /^[\x21-\x7e]+$/;

/** Whether the text may be a key that another program made and that was imported: one that has not the form of keys made here. */
export function mayBeImportedKey(text: string): boolean {
  return text.length <= IMPORTED_CHARS_MAX && !text.startsWith(KEY_PREFIX) && VISIBLE.test(text);
}

/** The SHA-256 of a key: all that is stored of it, and what it is found by. */
export function hashApiKey(key: string): Buffer {
  return hashSecretText(key);
}

/** What lists show of a key, enough to distinguish keys: `sk-fg-Ab12…`. Of a key of another program, which may be short, a third at most. */
export function displayPrefix(key: string): string {
  if (key.startsWith(KEY_PREFIX)) return shownPrefix(KEY_PREFIX, key);
  return `${key.slice(0, Math.min(Math.floor(key.length / 3), IMPORTED_SHOWN_CHARS_MAX))}…`;
}

/** `sk-` and four characters. */
const IMPORTED_SHOWN_CHARS_MAX = 7;
