import type { FillRandom } from '../lib/ids.ts';
import { createSecretText, hashSecretText, isSecretText, shownPrefix } from '../lib/secret-text.ts';

/** What the text of a named admin token begins with. */
const TOKEN_PREFIX = 'fg_admin_';

/** More than anybody could keep an eye on. */
export const LIVING_TOKENS_MAX = 200;

/** Makes the text of a new token. */
export function createAdminToken(fillRandom: FillRandom): string {
  return createSecretText(TOKEN_PREFIX, fillRandom);
}

/** Whether the text has the form of a named admin token, checksum included. */
export function isAdminToken(text: string): boolean {
  return isSecretText(TOKEN_PREFIX, text);
}

/** All that is stored of the text of a token, and what it is found by. */
export function hashAdminToken(text: string): Buffer {
  return hashSecretText(text);
}

/** What lists show of the text of a token: `fg_admin_Ab12…`. */
export function shownAdminToken(text: string): string {
  return shownPrefix(TOKEN_PREFIX, text);
}
