import { createHash } from 'node:crypto';
import type { FillRandom } from '../lib/ids.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;

export function createSecretToken(fillRandom: FillRandom): string {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  fillRandom(bytes);
  return bytes.toString('base64url');
}

/** Whether a text has the format of a token. Others are not looked up. */
export function isSecretToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Hashes a token. A fast hash is enough, because a token cannot be guessed. */
export function hashSecretToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
