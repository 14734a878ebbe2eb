import { z } from 'zod';
import { NO_ALLOW_LISTS } from '../../accounting/accounts/allow-lists.ts';
import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import { type KeyLimitStore, NO_LIMITS } from '../../accounting/accounts/key-limit-store.ts';
import {
  ACTIVE_KEYS_MAX,
  KEYS_A_DAY_MAX,
  type KeysLimit,
  NoMemberError,
  type OwnKeysLimit,
  TooManyKeysError,
} from '../../accounting/accounts/key-owner-store.ts';
import type { KeyUseStore } from '../../accounting/accounts/key-use-store.ts';
import type { Keys } from '../../accounting/accounts/keys.ts';
import { type ModelBudgetStore, NO_MODEL_BUDGETS } from '../../accounting/accounts/model-budget-store.ts';
import { NO_RATE_LIMITS, type RateLimitStore } from '../../accounting/accounts/rate-limit-store.ts';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { KeyBudgetStore } from '../../accounting/reservations/key-budget-store.ts';
import { type GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { toAllowListChange } from '../accounts/allow-lists.ts';
import { tooManyModels, toRateChange } from '../accounts/rate-limits.ts';
import { conflict, notFound, orNotFound } from '../management/endpoint.ts';
import { notYourAccount } from '../management/guard.ts';
import { at } from '../management/response-fields.ts';
import { toPage } from '../management/wire.ts';
import type { KeyChangeBody, KeyListQuery, NewKeyBody, ReplacementBody } from './key-body.ts';
import { budgetIdsIn, orTooManyBudgets, ownerOf, toBudgetChanges, usedByModelToWire } from './model-budgets.ts';
import { type KeyResponse, keyMembers, keyToWire, toLimitChange, usedToWire } from './wire.ts';

export interface KeyAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'findKey' | 'listKeys'>;
  readonly keys: Keys;
  readonly keyLimits: Pick<KeyLimitStore, 'find'>;
  readonly modelBudgets: ModelBudgetStore;
  readonly keyUses: Pick<KeyUseStore, 'find'>;
  readonly keyBudgets: Pick<KeyBudgetStore, 'uses'>;
  readonly periods: () => RunningPeriods;
  readonly rateLimits: Pick<RateLimitStore, 'ofKeys'>;
  readonly isMember: (accountId: string, userId: string) => Promise<boolean>;
  readonly catalog: () => Catalog;
  readonly clock: Clock;
}

const created = { ...keyMembers, key: z.string() };
export const createdKey = z.strictObject(created).meta({ id: 'CreatedKey' });
export type CreatedKey = z.infer<typeof createdKey>;

export const replacementKey = z
  .strictObject({
    ...created,
    replaces: z.strictObject({
      id: z.string(),
      validUntil: at.describe('When the old key stops or stopped being valid.'),
    }),
  })
  .meta({ id: 'ReplacementKey' });
export type ReplacementKey = z.infer<typeof replacementKey>;

export function keyKeeper(dependencies: KeyAdminDependencies) {
  const {
    accounts,
    keys,
    keyLimits,
    modelBudgets,
    keyUses,
    keyBudgets,
    periods,
    rateLimits,
    isMember,
    catalog,
    clock,
  } = dependencies;

  async function findLimits(accountId: string, found: readonly ApiKey[]) {
    const keyIds = found.map(({ id }) => id);
    const limitsOf = await keyLimits.find(accountId, keyIds);
    const ratesOf = await rateLimits.ofKeys(found);
    const budgetsOf = await modelBudgets.find(found.map(ownerOf));
    const lastUses = await keyUses.find(found);
    const wires = found.map((key) => {
      const limits = limitsOf.get(key.id) ?? NO_LIMITS;
      const rates = ratesOf.get(key.id) ?? NO_RATE_LIMITS;
      const budgets = budgetsOf.get(key.id) ?? NO_MODEL_BUDGETS;
      return keyToWire(key, { limits, rates, budgets }, lastUses.get(key.id) ?? null, catalog());
    });
    return { wires, budgetsOf };
  }

  async function withUse(accountId: string, found: readonly ApiKey[]): Promise<KeyResponse[]> {
    const { wires, budgetsOf } = await findLimits(accountId, found);
    const counted = [...found.map(({ id }) => id), ...budgetIdsIn(budgetsOf)];
    const uses = await keyBudgets.uses(accountId, counted, periods());
    return wires.map((key) => ({
      ...key,
      used: usedToWire(uses.get(key.id)),
      usedByModel: usedByModelToWire(key.id, budgetsOf.get(key.id) ?? NO_MODEL_BUDGETS, uses, catalog()),
    }));
  }

  const requireKey = async (id: string): Promise<ApiKey> => orNotFound(await accounts.findKey(id), 'key', id);

  return {
    /** Creates a key. Its text is not stored. `ownKeys`: maximum number of keys of its owner. */
    async create(accountId: string, body: NewKeyBody, ownKeys?: OwnKeysLimit): Promise<CreatedKey> {
      const { userId = null } = body;
      if (userId !== null && ownKeys === undefined && !(await isMember(accountId, userId))) throw noMember(userId);
      const { name, expiresAt = null, scopes } = body;
      const limits = toLimitChange(body);
      const allowed = toAllowListChange(body, NO_ALLOW_LISTS, catalog());
      const rates = toRateChange(body, catalog());
      const budgets = toBudgetChanges(body, catalog());
      const made = await orRefused(accountId, userId, ownKeys, () =>
        keys.make({ accountId, name, expiresAt, limits, rates, budgets, allowed, scopes, userId, ownKeys }),
      );
      return { ...keyToWire(made.key, made, null, catalog()), key: made.text };
    },

    async list(accountId: string, { cursor, limit, status, userId }: KeyListQuery) {
      const filter = { userId: userId ?? null, status: status ?? null, at: new Date(clock.nowMs()) };
      const wires = await withUse(accountId, await accounts.listKeys(accountId, cursor ?? null, limit, filter));
      return toPage(wires, limit, ({ id }) => id);
    },

    subject: {
      kind: 'key',
      async read(id: string) {
        const key = await accounts.findKey(id);
        return key && (await findLimits(key.accountId, [key])).wires[0]!;
      },
    },

    async change(id: string, body: KeyChangeBody) {
      const key = await requireKey(id);
      const allowed = toAllowListChange(body, key.allowed, catalog());
      const rates = toRateChange(body, catalog());
      const budgets = toBudgetChanges(body, catalog());
      const change = { name: body.name, limits: toLimitChange(body), rates, budgets, allowed };
      const changed = await orTooManyBudgets(() => keys.change(key, change));
      if (changed === 'too_many') throw tooManyModels();
      const [wire] = await withUse(key.accountId, [orNotFound(changed, 'key', id)]);
      return wire!;
    },

    async replace(id: string, { keepOldSeconds, expiresAt = null }: ReplacementBody, ownKeys?: OwnKeysLimit) {
      const { accountId, userId } = await requireKey(id);
      const keepOldMs = keepOldSeconds * 1_000;
      const done = await orRefused(accountId, userId, ownKeys, () =>
        keys.replace({ accountId, keyId: id, expiresAt, keepOldMs, ownKeys }),
      );
      if (done === null) throw conflict('The key is revoked or has expired. Create another one.');
      const { replaced, text: key } = done;
      const [wire] = (await findLimits(accountId, [done.key])).wires;
      const validUntil = replaced.revokedAt ?? replaced.expiresAt!;
      return { ...wire!, key, replaces: { id, validUntil: validUntil.toISOString() } };
    },

    async revoke(id: string): Promise<void> {
      if (!(await keys.revoke(id))) throw notFound('key', id);
    },
  };
}

const TOO_MANY: Readonly<Record<KeysLimit, (own: OwnKeysLimit | undefined) => string>> = {
  own: (own) => `You have ${own!.keysMax} active keys, which is the limit. Revoke one first.`,
  active: () => `The account has ${ACTIVE_KEYS_MAX} active keys, which is the limit. Revoke one first.`,
  made: () =>
    `${KEYS_A_DAY_MAX} keys were created for the account within a day, which is the limit. Try again tomorrow.`,
};

const noMember = (userId: string | null): GatewayError =>
  invalidRequest(`userId: The account has no member ${quoted(userId ?? '')}.`, 'userId');

/** Awaits a change of a key and converts its refusals. A user who was just removed causes the same error as a user who is not a member. */
export async function orRefused<Result>(
  accountId: string,
  userId: string | null,
  ownKeys: OwnKeysLimit | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof NoMemberError) throw ownKeys === undefined ? noMember(userId) : notYourAccount(accountId);
    if (!(error instanceof TooManyKeysError)) throw error;
    throw conflict(TOO_MANY[error.limit](ownKeys));
  }
}
