import type { Clock } from '../lib/clock.ts';
import type { TokenActor } from './actor.ts';
import { hashAdminToken, isAdminToken } from './admin-token.ts';
import type { AdminToken, AdminTokensStore } from './admin-tokens-store.ts';

/** How often the last use of a token is written at most. */
const NOTED_EVERY_MS = 60_000;

interface AdminTokenReaderParts {
  readonly tokens: Pick<AdminTokensStore, 'findLiving'>;
  /** Of statements that nobody waits for. */
  readonly uses: Pick<AdminTokensStore, 'noteUse'>;
  readonly clock: Clock;
}

/** Finds named admin tokens, and notes in the background when they were used. */
export function createAdminTokenReader({ tokens, uses, clock }: AdminTokenReaderParts) {
  /** Of the tokens whose use is being written: living ones, so there are no more than there may be of those. */
  const writing = new Map<string, Promise<void>>();

  function noteUse({ id, lastUsedAt }: AdminToken): void {
    const nowMs = clock.nowMs();
    const isNoted = lastUsedAt !== null && nowMs - lastUsedAt.getTime() < NOTED_EVERY_MS;
    if (isNoted || writing.has(id)) return;
    const written = uses
      .noteUse(id, nowMs, nowMs - NOTED_EVERY_MS)
      // The next use says as much.
      .catch(() => undefined)
      .finally(() => writing.delete(id));
    writing.set(id, written);
  }

  return {
    /** Whose token the text is, asked of the database each time; `null` if it is none, unknown, expired or revoked. */
    async read(text: string): Promise<TokenActor | null> {
      if (!isAdminToken(text)) return null;
      const token = await tokens.findLiving(hashAdminToken(text), clock.nowMs());
      if (token === null) return null;
      noteUse(token);
      return { kind: 'admin_token', id: token.id, name: token.name, role: token.role, scopes: token.scopes };
    },
    /** Resolves when no use is being written. */
    async stop(): Promise<void> {
      await Promise.all(writing.values());
    },
  };
}
