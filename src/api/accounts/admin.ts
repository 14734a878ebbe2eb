import { z } from 'zod';
import type { AccountChanges } from '../../accounting/accounts/account-changes.ts';
import type { AccountCreations } from '../../accounting/accounts/account-creation-store.ts';
import { NO_RATE_LIMITS, type RateLimitStore } from '../../accounting/accounts/rate-limit-store.ts';
import type { Account, AccountStore } from '../../accounting/accounts/store.ts';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import { PRICE_FACTOR_BASIS_POINTS_MAX } from '../../accounting/pricing/price-factor.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, notFound, Repeat } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import {
  accountResponse,
  accountToWire,
  capYuan,
  filterText,
  page,
  recording,
  shortText,
  wholeNumber,
} from '../management/wire.ts';
import { allowListFields, toAllowListChange } from './allow-lists.ts';
import { buyer } from './buyer.ts';
import { rateLimitFields, tooManyModels, toRateChange, underPresentNames } from './rate-limits.ts';
import { requireAccount } from './require-account.ts';
import { requireGroup } from './require-group.ts';

export interface AccountAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'listAccounts'>;
  readonly accountCreations: Pick<AccountCreations, 'create'>;
  readonly accountChanges: AccountChanges;
  readonly ledger: Pick<LedgerStore, 'findBalances'>;
  readonly rateLimits: Pick<RateLimitStore, 'ofAccounts'>;
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly periods: () => RunningPeriods;
}

export const email = z.email({ error: 'Expected an e-mail address.' }).max(200);

export const newAccount = z.strictObject({
  name: shortText,
  email: email.nullish(),
  verified: z.boolean().default(false),
  dailySpendCapYuan: capYuan.nullish(),
  balanceYuan: capYuan.nullish(),
  groupId: shortText.nullish(),
});

const priceFactor = wholeNumber(
  0,
  PRICE_FACTOR_BASIS_POINTS_MAX,
  `Expected a whole number of basis points from 0 to ${PRICE_FACTOR_BASIS_POINTS_MAX}; 10000 is the list price.`,
);

const accountChange = z
  .strictObject({
    name: shortText.optional(),
    email: email.optional(),
    verified: z.boolean().optional(),
    status: z.enum(['active', 'suspended']).optional(),
    /** Reason for the status. A status without a reason removes the previous reason. */
    statusReason: shortText.optional(),
    dailySpendCapYuan: capYuan.nullable().optional(),
    /** Factor for calls that are admitted from now on. 8000 is 20 % off the list price. */
    priceFactorBasisPoints: priceFactor.optional(),
    membersSeeBalance: z.boolean().optional(),
    recording: recording.partial().optional(),
    /** Group of the account; `null` removes the account from its group. */
    groupId: shortText.nullable().optional(),
    allowedModels: allowListFields.allowedModels,
    buyer: buyer.nullable().optional(),
    ...rateLimitFields,
  })
  .refine(({ status, statusReason }) => statusReason === undefined || status !== undefined, {
    path: ['statusReason'],
    error: 'A reason requires a status. Send "status" with it.',
  });

const accountList = z
  .strictObject({
    ...page,
    search: filterText.optional(),
    name: filterText.optional(),
    group: filterText.optional(),
  })
  .refine(({ search, name, group }) => [search, name, group].filter((each) => each !== undefined).length < 2, {
    path: ['name'],
    error: 'Send only one of search, name and group.',
  });

export function accountReader({
  accounts,
  ledger,
  rateLimits,
  periods,
  catalog,
}: Pick<AccountAdminDependencies, 'accounts' | 'ledger' | 'rateLimits' | 'periods' | 'catalog'>) {
  async function withBalances(found: readonly Account[]) {
    const foundIds = found.map(({ id }) => id);
    const balances = await ledger.findBalances(foundIds, periods());
    const rates = await rateLimits.ofAccounts(foundIds);
    return found.map((account) =>
      accountToWire(
        account,
        balances.get(account.id),
        underPresentNames(rates.get(account.id) ?? NO_RATE_LIMITS, catalog()),
      ),
    );
  }

  async function read(id: string) {
    const [wire] = await withBalances([await requireAccount(accounts, id)]);
    return wire!;
  }

  return { read, withBalances };
}

export function accountEndpoints(dependencies: AccountAdminDependencies): AdminEndpoint[] {
  const { accounts, accountCreations, accountChanges, catalog, clock, ids } = dependencies;

  const { read, withBalances } = accountReader(dependencies);

  async function toModelIds(accountId: string, allowedModels: readonly string[]) {
    const { allowedModels: models } = await requireAccount(accounts, accountId);
    return toAllowListChange({ allowedModels }, { models, networks: null }, catalog()).models;
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts',
      status: 201,
      summary: 'Create an account, with a first top-up if it has a balance',
      body: newAccount,
      isRepeatable: true,
      response: accountResponse,
      async run({ body, idempotencyKey }) {
        if (body.groupId) requireGroup(body.groupId, catalog());
        const account = {
          name: body.name,
          email: body.email ?? null,
          verified: body.verified,
          dailyCapNano: body.dailySpendCapYuan ?? null,
          openingNano: body.balanceYuan ?? 0n,
          // Without a group, the field is absent: repeats of requests to earlier versions must have the same text.
          ...(body.groupId && { groupId: body.groupId }),
        };
        const keyed = idempotencyKey === null ? null : { idempotencyKey, request: requestText(account) };
        const at = new Date(clock.nowMs());
        const newId = ids.next('acct');
        const id = await accountCreations.create({ id: newId, ...account, keyed, at });
        if (id === null) {
          throw conflict('This Idempotency-Key was used for another account.');
        }
        return Repeat.if(id !== newId, await read(id));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts',
      summary: 'List and search accounts',
      query: accountList,
      response: pageOf(accountResponse),
      async run({ query }) {
        const { search, name, group: groupId, cursor, limit } = query;
        const { items, next } = await accounts.listAccounts(
          { search, name, groupId },
          cursor ?? null,
          limit,
          LIST_TIMING,
        );
        return { data: await withBalances(items), nextCursor: next };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id',
      summary: 'Read an account',
      response: accountResponse,
      run: ({ id }) => read(id),
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/accounts/:id',
      subject: { kind: 'account', read },
      summary: 'Change an account',
      body: accountChange,
      response: accountResponse,
      async run({ id, body }) {
        const { dailySpendCapYuan, priceFactorBasisPoints, ...fields } = body;
        const { requestsPerMinute, tokensPerMinute, modelLimits, allowedModels, ...change } = fields;
        if (change.groupId) requireGroup(change.groupId, catalog());
        const models = allowedModels && (await toModelIds(id, allowedModels));
        const result = await accountChanges.change(id, {
          fields: { ...change, allowedModels: models },
          rates: toRateChange({ requestsPerMinute, tokensPerMinute, modelLimits }, catalog()),
          dailyCapNano: dailySpendCapYuan,
          priceFactorBasisPoints,
        });
        if (result === 'absent') throw notFound('account', id);
        if (result === 'too_many_models') throw tooManyModels();
        return read(id);
      },
    }),
  ];
}

/** Returns the same text for two spellings of the same amounts. */
function requestText(account: object): string {
  return JSON.stringify(account, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}
