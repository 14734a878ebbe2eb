import type { Clock } from '../lib/clock.ts';
import type { TokenActor } from './actor.ts';
import { hashAdminToken, isAdminToken } from './admin-token.ts';
import type { AdminToken, AdminTokensStore } from './admin-tokens-store.ts';

/** Minimum time between two updates of a token's last use. */
const NOTED_EVERY_MS = 60_000;

interface AdminTokenReaderDependencies {
  readonly tokens: Pick<AdminTokensStore, 'findActive'>;
  /** Store for last uses, on a connection pool for which no request waits. */
  readonly uses: Pick<AdminTokensStore, 'noteUse'>;
  readonly clock: Clock;
}

export function createAdminTokenReader({ tokens, uses, clock }: AdminTokenReaderDependencies) {
  const writing = new Map<string, Promise<void>>();

  function noteUse({ id, lastUsedAt }: AdminToken): void {
    const nowMs = clock.nowMs();
    const isNoted = lastUsedAt !== null && nowMs - lastUsedAt.getTime() < NOTED_EVERY_MS;
    if (isNoted || writing.has(id)) return;
    const written = uses
      .noteUse(id, nowMs, nowMs - NOTED_EVERY_MS)
      // A failure does no harm, because the next use records a later time.
      .catch(() => undefined)
      .finally(() => writing.delete(id));
    writing.set(id, written);
  }

  return {
    /** Finds a token in the database each time; `null` if the text is malformed, or the token unknown, expired or revoked. */
    async read(text: string): Promise<TokenActor | null> {
      if (!isAdminToken(text)) return null;
      const token = await tokens.findActive(hashAdminToken(text), clock.nowMs());
      if (token === null) return null;
      noteUse(token);
      return { kind: 'admin_token', id: token.id, name: token.name, role: token.role, scopes: token.scopes };
    },
    async stop(): Promise<void> {
      await Promise.all(writing.values());
    },
  };
}
