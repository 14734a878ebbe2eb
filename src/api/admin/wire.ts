import { z } from 'zod';
import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import type { KeyLimits } from '../../accounting/accounts/key-limit-store.ts';
import type { RateLimits, RateMaxima } from '../../accounting/accounts/rate-limit-store.ts';
import type { Account } from '../../accounting/accounts/store.ts';
import type { Drain } from '../../accounting/drains/drain.ts';
import type { BalanceState, LedgerEntry } from '../../accounting/ledger/ledger-store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { Subscription } from '../../accounting/plans/subscriptions-store.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import { isPlainText, isStorable } from '../../lib/plain-text.ts';
import { formatYuan, parseYuan } from '../../lib/yuan.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import type { RouteStanding } from '../../providers/routing/health.ts';
import type { CredentialStanding } from '../../providers/upstream/credentials.ts';

/** The shapes of the admin API on the wire: money as decimal strings in yuan, instants in ISO 8601. */

/** The largest amount, positive or negative: a hundred million yuan, so that no sum of the ledger overflows. */
const AMOUNT_NANO_MAX = 100_000_000n * 1_000_000_000n;

export const amountYuan = z
  .string({ error: 'Expected a decimal string in yuan, such as "12.50".' })
  .transform((text, context) => {
    const nano = parseYuan(text);
    if (nano !== null && nano <= AMOUNT_NANO_MAX && nano >= -AMOUNT_NANO_MAX) return nano;
    context.addIssue({
      code: 'custom',
      message: 'Expected a decimal string in yuan, such as "12.50", with at most 9 decimals and at most 100000000.',
    });
    return z.NEVER;
  });

export const positiveAmountYuan = amountYuan.refine((nano) => nano > 0n, { error: 'Expected an amount above zero.' });
export const capYuan = amountYuan.refine((nano) => nano >= 0n, { error: 'Expected an amount of zero or more.' });

const boundedText = z
  .string({ error: 'Expected text.' })
  .min(1, 'Must not be empty.')
  .max(200, 'At most 200 characters.')
  .refine(isStorable, 'Must be well-formed text without zero bytes.');

/** A name or a memo in one line; surrounding white space is removed. */
export const shortText = z
  .string({ error: 'Expected text.' })
  .trim()
  .pipe(boundedText.refine(isPlainText, 'Must not hold control characters or direction marks.'));

/** The text that a list is filtered by, unchanged. */
export const filterText = boundedText;

const EXPECTED_INSTANT = 'Expected an instant in ISO 8601, such as 2026-11-20T12:00:00Z.';

/** An instant whose year has four digits, in UTC too: later years have no common form in ISO 8601. */
export const instant = z.iso
  .datetime({ offset: true, error: EXPECTED_INSTANT })
  .transform((text) => new Date(text))
  .refine((date) => date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999, { error: EXPECTED_INSTANT });

/** `limit` and `cursor` of a list. */
export const page = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: filterText.optional(),
};

/** A page of a list; it has a next page where it has as many items as were requested. */
export function toPage<Item, Wire>(
  items: readonly Item[],
  limit: number,
  toWire: (item: Item) => Wire,
  cursorOf: (item: Item) => string,
): { data: Wire[]; nextCursor: string | null } {
  const last = items.at(-1);
  return {
    data: items.map(toWire),
    nextCursor: last !== undefined && items.length === limit ? cursorOf(last) : null,
  };
}

export function accountToWire(account: Account, balance: BalanceState | undefined, rates: RateLimits) {
  return {
    id: account.id,
    name: account.name,
    email: account.email,
    verified: account.verified,
    status: account.status,
    statusReason: account.statusReason,
    statusChangedAt: account.statusChangedAt?.toISOString() ?? null,
    balanceYuan: formatYuan(balance?.balanceNano ?? 0n),
    heldYuan: formatYuan(balance?.reservedNano ?? 0n),
    spentTodayYuan: formatYuan(balance?.spentTodayNano ?? 0n),
    dailySpendCapYuan: yuanOrNull(balance?.dailyCapNano ?? null),
    priceFactorBasisPoints: balance?.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS,
    ...rateLimitsToWire(rates),
    createdAt: account.createdAt.toISOString(),
  };
}

export function keyToWire(key: ApiKey, limits: KeyLimits, rates: RateLimits, lastUsedAt: Date | null) {
  return {
    id: key.id,
    accountId: key.accountId,
    name: key.name,
    prefix: key.prefix,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    dailySpendCapYuan: yuanOrNull(limits.dailySpendCapNano),
    weeklySpendCapYuan: yuanOrNull(limits.weeklySpendCapNano),
    monthlySpendCapYuan: yuanOrNull(limits.monthlySpendCapNano),
    totalSpendCapYuan: yuanOrNull(limits.totalSpendCapNano),
    dailyCalls: limits.dailyCallsMax,
    concurrency: limits.concurrencyMax,
    allowedModels: key.allowed.models,
    allowedNetworks: key.allowed.networks,
    ...rateLimitsToWire(rates),
  };
}

export function yuanOrNull(amountNano: bigint | null): string | null {
  return amountNano === null ? null : formatYuan(amountNano);
}

/** Limits by the minute, of an account or a key. */
function rateLimitsToWire(limits: RateLimits) {
  const modelLimits = Object.fromEntries([...limits.models].map(([model, own]) => [model, maximaToWire(own)]));
  return { ...maximaToWire(limits), modelLimits };
}

function maximaToWire({ requestsMax, tokensMax }: RateMaxima) {
  return { requestsPerMinute: requestsMax, tokensPerMinute: tokensMax };
}

/** The id of a ledger entry, made of its account and number, so that it needs no column. */
export function ledgerEntryId(accountId: string, entryNo: bigint): string {
  return `le_${accountId.replace(/^acct_/, '')}_${entryNo}`;
}

export function ledgerEntryToWire(entry: LedgerEntry) {
  return {
    id: ledgerEntryId(entry.accountId, entry.entryNo),
    kind: entry.kind,
    amountYuan: formatYuan(entry.amountNano),
    balanceAfterYuan: formatYuan(entry.balanceAfterNano),
    callId: entry.callId,
    memo: entry.memo,
    createdAt: entry.createdAt.toISOString(),
  };
}

export function subscriptionToWire(subscription: Subscription, plans: readonly PlanTerms[], nowMs: number) {
  const { id, accountId, planId, startsAt, endsAt, canceledAt, createdAt } = subscription;
  return {
    id,
    accountId,
    planId,
    planName: plans.find((plan) => plan.id === planId)?.name ?? null,
    status: subscriptionStatus(subscription, nowMs),
    startsAt: startsAt.toISOString(),
    endsAt: endsAt.toISOString(),
    canceledAt: canceledAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

function subscriptionStatus({ startsAt, endsAt, canceledAt }: Subscription, nowMs: number): string {
  if (canceledAt !== null) return 'canceled';
  if (endsAt.getTime() <= nowMs) return 'expired';
  return startsAt.getTime() > nowMs ? 'scheduled' : 'active';
}

export function routeToWire(
  model: string,
  route: Route,
  standing: RouteStanding,
  credentials: readonly CredentialStanding[],
  drain: Drain | null,
) {
  const { state, failuresInARow, lastFailure, probeAtMs, accounts } = standing;
  return {
    model,
    provider: route.providerId,
    providerModel: route.providerModel,
    priority: route.priority,
    weight: route.weight,
    state: route.weight === 0 ? 'off' : state,
    drained: drain === null ? null : drainToWire(drain),
    failuresInARow,
    lastError: lastFailure?.reason ?? null,
    lastErrorAt: instantToWire(lastFailure?.atMs ?? null),
    triedAgainAt: instantToWire(probeAtMs),
    accountBreakers: accounts.map((account) => ({
      accountId: account.accountId,
      state: account.state,
      failuresInARow: account.failuresInARow,
      triedAgainAt: instantToWire(account.probeAtMs),
    })),
    credentials: credentials.map(({ name, file, state, status, triedAgainAtMs }) => ({
      name,
      file,
      state,
      status,
      triedAgainAt: instantToWire(triedAgainAtMs),
    })),
  };
}

export function drainToWire({ providerId, model, providerModel, reason, drainedBy, drainedAt }: Drain) {
  return {
    provider: providerId,
    model,
    providerModel,
    reason,
    by: drainedBy,
    since: drainedAt.toISOString(),
  };
}

export function instantToWire(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
