import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import { mayGrantRole } from './access.ts';
import { type Actor, type OperatorRole, signatureOf } from './actor.ts';
import { createAdminToken, hashAdminToken, shownAdminToken } from './admin-token.ts';
import type { AdminToken, AdminTokensStore } from './admin-tokens-store.ts';

interface AskedToken {
  readonly name: string;
  readonly role: OperatorRole;
  /** `null`: never. */
  readonly expiresAt: Date | null;
}

/** Why no token is made: the actor may not grant the role, it would have expired already, or there is one of that name, or too many. */
type TokenRefusal = 'role_not_allowed' | 'expired' | 'name_taken' | 'too_many';

interface AdminTokenMakerParts {
  readonly store: Pick<AdminTokensStore, 'insert'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
}

export type AdminTokenMaker = ReturnType<typeof createAdminTokenMaker>;

/** Makes named admin tokens. */
export function createAdminTokenMaker({ store, clock, ids, fillRandom }: AdminTokenMakerParts) {
  return {
    /** The token with its text, which nobody can read again. */
    async make(
      { name, role, expiresAt }: AskedToken,
      by: Actor,
    ): Promise<{ readonly token: AdminToken; readonly text: string } | TokenRefusal> {
      if (!mayGrantRole(by, role)) return 'role_not_allowed';
      const at = new Date(clock.nowMs());
      if (expiresAt !== null && expiresAt <= at) return 'expired';
      const text = createAdminToken(fillRandom);
      const token = await store.insert({
        id: ids.next('tok'),
        name,
        role,
        tokenHash: hashAdminToken(text),
        prefix: shownAdminToken(text),
        createdBy: signatureOf(by),
        expiresAt,
        at,
      });
      return typeof token === 'string' ? token : { token, text };
    },
  };
}
