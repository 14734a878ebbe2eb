import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { type AllowListChange, NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from '../../accounting/accounts/key-format.ts';
import { type KeyLimitChange, type KeyLimitStore, NO_LIMITS } from '../../accounting/accounts/key-limit-store.ts';
import type { KeyUseStore } from '../../accounting/accounts/key-use-store.ts';
import type { Principals } from '../../accounting/accounts/principals.ts';
import { NO_RATE_LIMITS, type RateLimitStore } from '../../accounting/accounts/rate-limit-store.ts';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { pageOf } from '../management/answer-fields.ts';
import { notFound } from '../management/endpoint.ts';
import { allowListFields, toAllowListChange } from './allow-lists.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { rateLimitFields, tooManyModels, toRateChange } from './rate-limits.ts';
import { capYuan, instant, keyAnswer, keyMembers, keyToWire, page, shortText, toPage } from './wire.ts';

export interface KeyAdminParts {
  readonly accounts: AccountStore;
  readonly keyLimits: KeyLimitStore;
  readonly keyUses: Pick<KeyUseStore, 'find'>;
  readonly rateLimits: RateLimitStore;
  readonly principals: Pick<Principals, 'forget'>;
  /** The catalog in force. */
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom?: FillRandom;
}

const COUNT_MAX = 1_000_000_000;
const EXPECTED_COUNT = { error: `Expected a whole number from 0 to ${COUNT_MAX}, or null for no limit.` };
const wholeLimit = z.number(EXPECTED_COUNT).int(EXPECTED_COUNT).min(0, EXPECTED_COUNT).max(COUNT_MAX, EXPECTED_COUNT);

/** The limits of a key (none by default): `null` removes a limit, an absent member leaves it unchanged. */
const limits = {
  dailySpendCapYuan: capYuan.nullish(),
  weeklySpendCapYuan: capYuan.nullish(),
  monthlySpendCapYuan: capYuan.nullish(),
  totalSpendCapYuan: capYuan.nullish(),
  dailyCalls: wholeLimit.nullish(),
  concurrency: wholeLimit.nullish(),
  ...rateLimitFields,
};
/** The body of a request for a key; an import checks its rows by it. */
export const newKey = z.strictObject({
  name: shortText.default('default'),
  expiresAt: instant.nullish(),
  ...limits,
  ...allowListFields,
});
const keyChange = z.strictObject({ ...limits, ...allowListFields });
/** A new key, with its text. */
const createdKey = z.strictObject({ ...keyMembers, key: z.string() }).meta({ id: 'CreatedKey' });
const keyList = z.strictObject(page);

/** API keys: create (shown once), list, revoke (refused at once). */
export function keyEndpoints(parts: KeyAdminParts): AdminEndpoint[] {
  const { accounts, keyLimits, keyUses, rateLimits, principals, catalog, clock, ids } = parts;
  const fillRandom = parts.fillRandom ?? randomFillSync;

  async function requireAccount(id: string): Promise<void> {
    if ((await accounts.findAccount(id)) === null) throw notFound('account', id);
  }

  /**
   * Sets the limits that the change names, and makes every node forget its cached principal of the key. It does so also
   * where nothing changes, because an attempt before may have failed between the two steps.
   */
  async function changeLimits(accountId: string, keyId: string, change: LimitChange): Promise<void> {
    const asked = toChange(change);
    const askedRates = toRateChange(change, catalog());
    if (asked === undefined && askedRates === undefined) return;
    if (askedRates !== undefined && (await rateLimits.change({ accountId, keyId }, askedRates)) === 'too_many') {
      throw tooManyModels();
    }
    if (asked !== undefined) await keyLimits.change(accountId, keyId, asked);
    await accounts.announceChange(accountId);
    principals.forget(accountId);
  }

  async function withLimits(accountId: string, keys: readonly ApiKey[]) {
    const keyIds = keys.map(({ id }) => id);
    const limitsOf = await keyLimits.find(accountId, keyIds);
    const ratesOf = await rateLimits.ofKeys(keys);
    const lastUses = await keyUses.find(keys);
    return keys.map((key) => {
      const [limits, rates] = [limitsOf.get(key.id) ?? NO_LIMITS, ratesOf.get(key.id) ?? NO_RATE_LIMITS];
      return keyToWire(key, limits, rates, lastUses.get(key.id) ?? null);
    });
  }

  /** Sets the allow-lists that the change names. Every node hears of it as of a revocation. */
  async function changeAllowLists(key: ApiKey, change: AllowListChange): Promise<ApiKey> {
    if (change.models === undefined && change.networks === undefined) return key;
    const changed = await accounts.changeAllowLists(key.id, change);
    if (changed === null) throw notFound('key', key.id);
    principals.forget(key.accountId);
    return changed;
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/keys',
      status: 201,
      summary: 'Create an API key; its text is never shown again',
      body: newKey,
      answer: createdKey,
      async run({ id, body }) {
        await requireAccount(id);
        const key = createApiKey(fillRandom);
        const limits = toChange(body);
        const allowed = toAllowListChange(body, NO_ALLOW_LISTS, catalog());
        const rates = toRateChange(body, catalog());
        const stored = await accounts.insertKey({
          accountId: id,
          id: ids.next('key'),
          name: body.name,
          keyHash: hashApiKey(key),
          prefix: displayPrefix(key),
          expiresAt: body.expiresAt ?? null,
          ...(limits === undefined ? {} : { limits }),
          ...(rates === undefined ? {} : { rateLimits: rates }),
          allowed,
          at: new Date(clock.nowMs()),
        });
        return { ...keyToWire(stored.key, stored.limits, stored.rateLimits, null), key };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/keys',
      summary: 'List the keys of an account',
      query: keyList,
      answer: pageOf(keyAnswer),
      async run({ id, query }) {
        await requireAccount(id);
        const keys = await accounts.listKeys(id, query.cursor ?? null, query.limit);
        return toPage(
          await withLimits(id, keys),
          query.limit,
          (key) => key,
          (key) => key.id,
        );
      },
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/keys/:id',
      summary:
        'Limit what a key may use: budgets, calls of a day and at the same time, requests and tokens a minute, models, client networks',
      body: keyChange,
      answer: keyAnswer,
      async run({ id, body }) {
        const key = await accounts.findKey(id);
        if (key === null) throw notFound('key', id);
        // Checked before anything is changed.
        const allowed = toAllowListChange(body, key.allowed, catalog());
        await changeLimits(key.accountId, id, body);
        const [wire] = await withLimits(key.accountId, [await changeAllowLists(key, allowed)]);
        return wire!;
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/keys/:id',
      status: 204,
      summary: 'Revoke a key',
      answer: null,
      async run({ id }) {
        const accountId = await accounts.revokeKey(id, new Date(clock.nowMs()));
        if (accountId === null) throw notFound('key', id);
        principals.forget(accountId);
        return null;
      },
    }),
  ];
}

type LimitChange = z.infer<typeof keyChange>;

/** `undefined` where it names no limit. */
function toChange(limits: LimitChange): KeyLimitChange | undefined {
  const change: KeyLimitChange = {
    dailySpendCapNano: limits.dailySpendCapYuan,
    weeklySpendCapNano: limits.weeklySpendCapYuan,
    monthlySpendCapNano: limits.monthlySpendCapYuan,
    totalSpendCapNano: limits.totalSpendCapYuan,
    dailyCallsMax: limits.dailyCalls,
    concurrencyMax: limits.concurrency,
  };
  return Object.values(change).every((limit) => limit === undefined) ? undefined : change;
}
