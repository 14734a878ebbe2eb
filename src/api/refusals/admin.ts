import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { OwnedBy } from '../../accounting/calls/calls-store.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import type { Refusal, RefusalsStore } from '../../requests/refusals-store.ts';
import { accountNamesOf } from '../accounts/account-names.ts';
import { keyNamesOf } from '../keys/key-names.ts';
import { ownedByPerson } from '../keys/keys-of-person.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LIST_LINES, listOrCsv } from '../management/list-csv.ts';
import { at, pageOf } from '../management/response-fields.ts';
import { filterText, instant, page } from '../management/wire.ts';

export interface RefusalAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findNames' | 'findKeyNames' | 'findOwnKeyIds'>;
  readonly refusals: Pick<RefusalsStore, 'list' | 'find'>;
}

export const refusalList = z.strictObject({
  ...page,
  accountId: filterText.optional(),
  keyId: filterText.optional(),
  userId: filterText.optional(),
  model: filterText.optional(),
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
    keyName: z
      .string()
      .nullable()
      .describe('The name of the key; null: the request had no key, or the key was deleted.'),
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

/** Reads refusals. Whatever a query asks for, its result contains only refusals of the given owner (`of`). */
export function refusalReader(dependencies: RefusalAdminDependencies) {
  return async ({ limit, cursor, from, to, ...asked }: z.infer<typeof refusalList>, of: OwnedBy) => {
    const filter = {
      ...asked,
      accountId: of.accountId ?? asked.accountId,
      ownKeyIds: of.keyIds,
      from: from ?? null,
      to: to ?? null,
    };
    const { items, next } = await dependencies.refusals.list(filter, cursor ?? null, limit, LIST_TIMING);
    return { data: await showRefusals(dependencies, items), nextCursor: next };
  };
}

export function refusalEndpoints(dependencies: RefusalAdminDependencies): AdminEndpoint[] {
  const list = refusalReader(dependencies);
  return [
    adminEndpoint({
      method: 'GET',
      path: '/refusals',
      summary: 'List refused requests, newest first; also as CSV',
      query: refusalList,
      response: pageOf(refusalResponse),
      lines: LIST_LINES,
      async run({ query, wantsCsv }) {
        const of = await ownedByPerson(dependencies.accounts, query);
        return listOrCsv(wantsCsv, Object.keys(refusalResponse.shape), query, (asked) => list(asked, of));
      },
    }),
  ];
}

export async function showRefusals(
  { accounts }: { readonly accounts: Pick<AccountStore, 'findNames' | 'findKeyNames'> },
  refusals: readonly Refusal[],
) {
  const [names, keyNames] = await Promise.all([accountNamesOf(accounts, refusals), keyNamesOf(accounts, refusals)]);
  return refusals.map((refusal) => refusalToWire(refusal, names, keyNames));
}

/** Converts a refusal. `id` is the request id, or another id if the row counts several refusals or has no request id. */
function refusalToWire(
  { atMs, ...refusal }: Refusal,
  names: ReadonlyMap<string, string>,
  keyNames: ReadonlyMap<string, string>,
): RefusalResponse {
  const accountName = refusal.accountId === null ? null : (names.get(refusal.accountId) ?? null);
  const keyName = refusal.keyId === null ? null : (keyNames.get(refusal.keyId) ?? null);
  return { ...refusal, accountName, keyName, at: new Date(atMs).toISOString() };
}
