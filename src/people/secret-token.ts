import { createHash } from 'node:crypto';
import type { FillRandom } from '../lib/ids.ts';

const TOKEN_BYTES = 32;
/** Of a token in base64url. */
const TOKEN = /^[\w-]{43}$/;

/** A new secret of a session or a link: 256 bits of chance. Only its hash is stored. */
export function createSecretToken(fillRandom: FillRandom): string {
  const bytes = Buffer.alloc(TOKEN_BYTES);
  fillRandom(bytes);
  return bytes.toString('base64url');
}

/** Whether a text can be one, so that no other is looked up. */
export function isSecretToken(text: string): boolean {
  return TOKEN.test(text);
}

/** What is stored of it. Nobody can find a token by trying, so the hash need not be slow. */
export function hashSecretToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
