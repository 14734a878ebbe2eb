import type { FillRandom } from '../lib/ids.ts';
import { createSecretText, hashSecretText, isSecretText, shownPrefix } from '../lib/secret-text.ts';

const TOKEN_PREFIX = 'fg_admin_';

/** Maximum number of active tokens. More would be hard to keep track of. */
export const ACTIVE_TOKENS_MAX = 200;

export function createAdminToken(fillRandom: FillRandom): string {
  return createSecretText(TOKEN_PREFIX, fillRandom);
}

export function isAdminToken(text: string): boolean {
  return isSecretText(TOKEN_PREFIX, text);
}

export function hashAdminToken(text: string): Buffer {
  return hashSecretText(text);
}

export function shownAdminToken(text: string): string {
  return shownPrefix(TOKEN_PREFIX, text);
}
