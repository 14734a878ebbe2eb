import { z } from 'zod';
import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import type { KeyLimitChange } from '../../accounting/accounts/key-limit-store.ts';
import type { KeyLimits } from '../../accounting/accounts/key-limit-tables.ts';
import { KEY_SCOPES } from '../../accounting/accounts/key-scopes.ts';
import type { ModelBudgets } from '../../accounting/accounts/model-budget-store.ts';
import type { RateLimits } from '../../accounting/accounts/rate-limit-store.ts';
import type { OwnerUse } from '../../accounting/reservations/limits/key-day.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { underPresentNames } from '../accounts/rate-limits.ts';
import { at, count, listOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { rateLimits, rateLimitsToWire, wholeNumber } from '../management/wire.ts';
import { limitsIn, membersOf, rowsToWire, SPEND_CAPS, spendToWire, usedSpend } from './limit-rows.ts';
import { modelBudgetsToWire, shownModelBudgets, usedByModelMember } from './model-budgets.ts';

const COUNT_MAX = 1_000_000_000;
const wholeLimit = wholeNumber(0, COUNT_MAX, `Expected a whole number from 0 to ${COUNT_MAX}, or null for no limit.`);

const whole = <const Name extends string>(name: Name) => ({
  name,
  asked: wholeLimit.nullish(),
  shown: count.nullable(),
  toWire: (limit: number | null) => limit,
});

const LIMITS = {
  ...SPEND_CAPS,
  dailyCallsMax: whole('dailyCalls'),
  concurrencyMax: whole('concurrency'),
} satisfies { readonly [Limit in keyof KeyLimits]: { toWire(limit: KeyLimits[Limit]): string | number | null } };

/** Limits in a request. `null` removes a limit; an absent field leaves it unchanged. */
export const askedLimits = membersOf(LIMITS, 'asked');
export const shownLimits = membersOf(LIMITS, 'shown');

export const LIMIT_MEMBERS = Object.fromEntries(Object.keys(askedLimits).map((name) => [name, true])) as {
  readonly [Name in keyof typeof askedLimits]: true;
};

/** Converts a body to a change; `undefined` if it has no limit. */
export function toLimitChange(body: Parameters<typeof limitsIn<typeof LIMITS>>[1]): KeyLimitChange | undefined {
  const change = limitsIn(LIMITS, body);
  return Object.values(change).every((limit) => limit === undefined) ? undefined : change;
}

export const limitsToWire = (limits: KeyLimits) => rowsToWire(LIMITS, limits);

const used = z.strictObject({ ...usedSpend, dailyCalls: count });

export const usedMember = {
  used: used
    .nullable()
    .describe('The usage of the limits; null: usage was never counted, because there were no limits.'),
  ...usedByModelMember,
};

export function usedToWire(use: OwnerUse | undefined): z.infer<typeof used> | null {
  return use === undefined ? null : { ...spendToWire(use), dailyCalls: use.calls };
}

export const keyMembers = {
  id: z.string(),
  accountId: z.string(),
  name: z.string().nullable(),
  prefix: z.string().describe('The first characters of the key.'),
  createdAt: at,
  expiresAt: at.nullable(),
  revokedAt: at.nullable(),
  lastUsedAt: at.nullable(),
  ...shownLimits,
  ...shownModelBudgets,
  allowedModels: listOf(z.string()).nullable(),
  allowedNetworks: listOf(z.string()).nullable(),
  scopes: listOf(z.enum(KEY_SCOPES)).describe('What the key may be used for.'),
  userId: z.string().nullable().describe('The user who owns the key; null: the account.'),
  formerUserName: z
    .string()
    .nullable()
    .describe('The former owner of the key, who has left the account; null: nobody.'),
  ...rateLimits,
};

const keyWithoutUse = z.strictObject(keyMembers);
export const keyResponse = keyWithoutUse.extend(usedMember).meta({ id: 'Key' });
export type KeyResponse = z.infer<typeof keyResponse>;

interface LimitsOfKey {
  readonly limits: KeyLimits;
  readonly rates: RateLimits;
  readonly budgets: ModelBudgets;
}

/** Limits of a renamed model are shown under its present id. */
export function keyToWire(
  key: ApiKey,
  { limits, rates, budgets }: LimitsOfKey,
  lastUsedAt: Date | null,
  catalog: Pick<Catalog, 'find'>,
) {
  return shown(keyWithoutUse, {
    ...key,
    lastUsedAt,
    ...limitsToWire(limits),
    modelBudgets: modelBudgetsToWire(budgets, catalog),
    allowedModels: key.allowed.models,
    allowedNetworks: key.allowed.networks,
    ...rateLimitsToWire(underPresentNames(rates, catalog)),
  });
}
