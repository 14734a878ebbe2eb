import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { EVERYBODY, type OwnedBy } from '../../accounting/calls/calls-store.ts';
import type { Refusal, RefusalsStore } from '../../requests/refusals-store.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { at, pageOf } from '../management/response-fields.ts';
import { filterText, instant, page, toPage } from '../management/wire.ts';

export interface RefusalAdminParts {
  readonly accounts: Pick<AccountStore, 'findNames'>;
  readonly refusals: Pick<RefusalsStore, 'list' | 'find'>;
}

export const refusalList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  code: filterText.optional(),
  from: instant.optional(),
  to: instant.optional(),
});

export const refusalResponse = z
  .strictObject({
    id: z.string(),
    at,
    count: z.int().min(1),
    accountId: z.string().nullable(),
    accountName: z.string().nullable(),
    keyId: z.string().nullable(),
    clientRequestId: z.string().nullable(),
    clientAddress: z.string().nullable(),
    method: z.string().nullable(),
    path: z.string().nullable(),
    operation: z.string().nullable(),
    model: z.string().nullable(),
    status: z.int().nullable(),
    code: z.string(),
    message: z.string().nullable(),
    param: z.string().nullable(),
  })
  .meta({ id: 'Refusal' });
export type RefusalResponse = z.infer<typeof refusalResponse>;

/** Lists refusals as both APIs do. `of`: whose, whatever the query names. */
export function refusalReader(parts: RefusalAdminParts) {
  return async (query: z.infer<typeof refusalList>, of: OwnedBy) => {
    const { limit, cursor, accountId, code, from, to } = query;
    const filter = {
      accountId: of.accountId ?? accountId ?? null,
      ownKeyIds: of.keyIds,
      code: code ?? null,
      from: from ?? null,
      to: to ?? null,
    };
    const found = await parts.refusals.list(filter, cursor ?? null, limit);
    const names = await accountNamesOf(parts.accounts, found);
    return toPage(
      found,
      limit,
      (refusal) => refusalToWire(refusal, names),
      ({ id }) => id,
    );
  };
}

/** Requests that were refused. */
export function refusalEndpoints(parts: RefusalAdminParts): AdminEndpoint[] {
  const list = refusalReader(parts);
  return [
    adminEndpoint({
      method: 'GET',
      path: '/refusals',
      summary: 'List refused requests, newest first',
      query: refusalList,
      response: pageOf(refusalResponse),
      run: ({ query }) => list(query, EVERYBODY),
    }),
  ];
}

/** Some refusals as the admin API shows them. */
export async function showRefusals({ accounts }: Pick<RefusalAdminParts, 'accounts'>, refusals: readonly Refusal[]) {
  const names = await accountNamesOf(accounts, refusals);
  return refusals.map((refusal) => refusalToWire(refusal, names));
}

/** `id` is the request id; of a count, whose `count` is above 1, or which names no request, an id of its own. */
function refusalToWire({ atMs, ...refusal }: Refusal, names: ReadonlyMap<string, string>): RefusalResponse {
  const accountName = refusal.accountId === null ? null : (names.get(refusal.accountId) ?? null);
  return { ...refusal, accountName, at: new Date(atMs).toISOString() };
}
