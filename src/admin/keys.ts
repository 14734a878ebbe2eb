import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { createApiKey, displayPrefix, hashApiKey } from '../accounts/key-format.ts';
import type { Principals } from '../accounts/principals.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import { type AdminEndpoint, adminEndpoint, notFound } from './endpoint.ts';
import { instant, keyToWire, page, shortText, toPage } from './wire.ts';

export interface KeyAdminParts {
  readonly accounts: AccountStore;
  readonly principals: Pick<Principals, 'forget'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom?: FillRandom;
}

const newKey = z.strictObject({ name: shortText.default('default'), expiresAt: instant.nullish() });
const keyList = z.strictObject(page);

/** API keys: create (shown once), list, revoke (refused at once). */
export function keyEndpoints(parts: KeyAdminParts): AdminEndpoint[] {
  const { accounts, principals, clock, ids } = parts;
  const fillRandom = parts.fillRandom ?? randomFillSync;

  async function requireAccount(id: string): Promise<void> {
    if ((await accounts.findAccount(id)) === null) throw notFound('account', id);
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/keys',
      status: 201,
      summary: 'Create an API key; its text is never shown again',
      body: newKey,
      async run({ id, body }) {
        await requireAccount(id);
        const key = createApiKey(fillRandom);
        const stored = await accounts.insertKey({
          accountId: id,
          id: ids.next('key'),
          name: body.name,
          keyHash: hashApiKey(key),
          prefix: displayPrefix(key),
          expiresAt: body.expiresAt ?? null,
          at: new Date(clock.nowMs()),
        });
        return { ...keyToWire(stored), key };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/keys',
      summary: 'List the keys of an account',
      query: keyList,
      async run({ id, query }) {
        await requireAccount(id);
        const keys = await accounts.listKeys(id, query.cursor ?? null, query.limit);
        return toPage(keys, query.limit, keyToWire, (key) => key.id);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/keys/:id',
      status: 204,
      summary: 'Revoke a key',
      async run({ id }) {
        const accountId = await accounts.revokeKey(id, new Date(clock.nowMs()));
        if (accountId === null) throw notFound('key', id);
        principals.forget(accountId);
        return null;
      },
    }),
  ];
}
