import type { CredentialReader } from '../api/management/guard.ts';
import type { DirectoryDatabase } from '../db/home-lanes.ts';
import type { Clock } from '../lib/clock.ts';
import { createAdminTokenReader } from '../people/admin-token-reader.ts';
import { type AdminTokensStore, createAdminTokensStore } from '../people/admin-tokens-store.ts';
import { requestLane } from './lanes.ts';

export interface AdminTokens {
  readonly store: AdminTokensStore;
  readonly read: CredentialReader;
  /** Resolves when no use of a token is being written. */
  stop(): Promise<void>;
}

/** Wires the named admin tokens of a gateway. */
export function createAdminTokens(directory: DirectoryDatabase, clock: Clock): AdminTokens {
  const store = createAdminTokensStore(requestLane(directory.lane('admin')));
  const reader = createAdminTokenReader({
    tokens: store,
    uses: createAdminTokensStore(directory.lane('housekeeping')),
    clock,
  });
  return {
    store,
    read: async ({ bearer }) => (bearer === null ? null : reader.read(bearer)),
    stop: () => reader.stop(),
  };
}
