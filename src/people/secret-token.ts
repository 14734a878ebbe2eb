import { createHash } from 'node:crypto';
import type { FillRandom } from '../lib/ids.ts';

const TOKEN_BYTES = 32;
/** The form of a token: 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;

/** Creates the secret token of a session or a link, which has 256 random bits. */
export function createSecretToken(fillRandom: FillRandom): string {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  fillRandom(bytes);
  return bytes.toString('base64url');
}

/** Whether a text has the form of a token; other texts are not looked up. */
export function isSecretToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Returns the hash that is stored. The hash need not be slow, because a token cannot be guessed. */
export function hashSecretToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
