import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import { mayGrantRole } from './access.ts';
import { type Actor, type OperatorRole, signatureOf, type TokenScope } from './actor.ts';
import { createAdminToken, hashAdminToken, shownAdminToken } from './admin-token.ts';
import type { AdminToken, AdminTokensStore } from './admin-tokens-store.ts';
import { type GrantRefusal, refusalOfGrant } from './grants.ts';

interface AskedToken {
  readonly name: string;
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
  readonly expiresAt: Date | null;
}

/** Why a token was not created. `token_ended`: the token that creates it has just ended. */
type TokenRefusal = GrantRefusal | 'role_not_allowed' | 'expired' | 'name_taken' | 'too_many' | 'token_ended';

interface AdminTokenMakerDependencies {
  readonly store: Pick<AdminTokensStore, 'insert'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
}

export type AdminTokenMaker = ReturnType<typeof createAdminTokenMaker>;

export function createAdminTokenMaker({ store, clock, ids, fillRandom }: AdminTokenMakerDependencies) {
  return {
    /** Creates a token. Its text cannot be read later. */
    async make(
      { name, role, scopes, expiresAt }: AskedToken,
      by: Actor,
    ): Promise<{ readonly token: AdminToken; readonly text: string } | TokenRefusal> {
      if (role !== null && !mayGrantRole(by, role)) return 'role_not_allowed';
      const at = new Date(clock.nowMs());
      const refusal = refusalOfGrant(by, scopes.includes('export') ? 'export' : null, at.getTime());
      if (refusal !== null) return refusal;
      if (expiresAt !== null && expiresAt <= at) return 'expired';
      const text = createAdminToken(fillRandom);
      const token = await store.insert({
        id: ids.next('tok'),
        name,
        role,
        scopes,
        madeByTokenId: by.kind === 'admin_token' ? by.id : null,
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
