import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';

/**
 * This file seals secrets with AES-256-GCM (NIST SP 800-38D). A sealed secret is the nonce, the ciphertext and the tag. The name of the
 * secret is additional authenticated data, so that a sealed secret cannot be used under another name.
 */

export const KEY_BYTES = 32;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

export interface SealingKey {
  /** Id of the key, derived from it. It is stored with what the key has sealed, and reveals nothing about the key. */
  readonly id: string;
  /** The key itself. Secret. */
  readonly bytes: Uint8Array;
}

/** @param bytes 32 random bytes */
export function createSealingKey(bytes: Uint8Array): SealingKey {
  const id = createHash('sha256').update('faregate sealing key\0').update(bytes).digest('hex').slice(0, 16);
  return { id, bytes };
}

/** @param nonce 12 random bytes that were not used for any other secret */
export function seal(key: SealingKey, name: string, secret: Uint8Array, nonce: Uint8Array): Buffer {
  const cipher = createCipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(name));
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
}

/** Opens a secret; `null` if it was sealed with another key or under another name, or if its bytes were changed. */
export function unseal(key: SealingKey, name: string, sealed: Uint8Array): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, key.bytes, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(name));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]);
  } catch {
    return null;
  }
}
