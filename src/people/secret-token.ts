import { createHash } from 'node:crypto';
import type { FillRandom } from '../lib/ids.ts';

const TOKEN_BYTES = 32;
/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;

/** The secret of a session or a link: 256 random bits. */
export function createSecretToken(fillRandom: FillRandom): string {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  fillRandom(bytes);
  return bytes.toString('base64url');
}

/** Whether a text has the form of a token; other texts are not looked up. */
export function isSecretToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The stored hash. A token cannot be guessed, so the hash need not be slow. */
export function hashSecretToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
