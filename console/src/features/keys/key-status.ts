import type { Key } from '../../api/types.ts';

export type KeyStatus = 'active' | 'revoked' | 'expired';

export function keyStatusOf(key: Pick<Key, 'revokedAt' | 'expiresAt'>, nowMs: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= nowMs ? 'expired' : 'active';
}
