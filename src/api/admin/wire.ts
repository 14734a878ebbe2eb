import { z } from 'zod';
import type { KeyLimits } from '../../accounting/accounts/key-limit-store.ts';
import type { RateLimits, RateMaxima } from '../../accounting/accounts/rate-limit-store.ts';
import type { Account, ApiKey } from '../../accounting/accounts/store.ts';
import type { Drain } from '../../accounting/drains/drain.ts';
import type { InnerModelNote, PricedBy, RecordedPrices } from '../../accounting/ledger/call-outcome.ts';
import type { CallRecord } from '../../accounting/ledger/calls-store.ts';
import type { BalanceState, LedgerEntry } from '../../accounting/ledger/ledger-store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { Subscription } from '../../accounting/plans/subscriptions-store.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import type { InFlightCall } from '../../accounting/reservations/in-flight-store.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { formatYuan, parseYuan } from '../../lib/yuan.ts';
import { shownUnits, type UnitName, usageUnits } from '../../protocols/metering/usage-units.ts';
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

/** Whether PostgreSQL can store the text: it has no zero byte, and no unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

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
    dailySpendCapYuan: balance?.dailyCapNano == null ? null : formatYuan(balance.dailyCapNano),
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

function yuanOrNull(amountNano: bigint | null): string | null {
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

function instantToWire(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** `refundedNano`: the sum of the refunds of the call. */
export function callToWire(call: CallRecord, refundedNano = 0n) {
  return {
    id: call.id,
    accountId: call.accountId,
    keyId: call.keyId,
    context: call.context,
    operation: call.operation,
    model: call.model,
    route: { provider: call.provider, model: call.providerModel },
    failedRoutes: call.failedRoutes ?? [],
    isStream: call.isStream,
    status: call.status,
    httpStatus: call.httpStatus,
    errorCode: call.errorCode,
    requestId: call.requestId,
    clientRequestId: call.clientRequestId,
    usage: call.usageSource === null ? null : { source: call.usageSource, ...usageToWire(call) },
    excessUsage: call.notes?.excess ?? null,
    innerModels: (call.notes?.innerModels ?? []).map(innerModelToWire),
    pricedBy: pricedByToWire(call.notes?.pricedBy),
    unpriced: call.notes?.unpriced ?? [],
    price: { rule: call.priceRule, ...(call.prices === null ? {} : pricesToWire(call.prices)) },
    priceFactorBasisPoints: call.priceFactorBasisPoints,
    chargeYuan: call.chargeNano === null ? null : formatYuan(call.chargeNano),
    refundedYuan: call.chargeNano === null ? null : formatYuan(refundedNano),
    costYuan: call.costNano === null ? null : formatYuan(call.costNano),
    heldYuan: call.reservedNano === null ? null : formatYuan(call.reservedNano),
    heldTokens: call.notes?.reservedTokens?.tokens ?? null,
    resolution: call.notes?.resolution ?? null,
    startedAt: call.startedAt.toISOString(),
    endedAt: call.endedAt.toISOString(),
    durationMs: call.endedAt.getTime() - call.startedAt.getTime(),
    firstByteMs: call.firstByteMs,
  };
}

/** A call that has not ended: its route is the first one that it may go over. */
export function inFlightToWire({ facts, ...call }: InFlightCall) {
  return {
    id: call.id,
    accountId: call.accountId,
    accountName: call.accountName,
    keyId: call.keyId,
    keyName: call.keyName,
    context: facts.context ?? (call.subscriptionId === null ? 'balance' : 'coding'),
    operation: facts.operation ?? null,
    model: call.model,
    route: { provider: facts.provider ?? null, model: facts.providerModel ?? null },
    isStream: facts.isStream ?? null,
    status: 'in_flight',
    requestId: facts.requestId ?? null,
    nodeId: call.nodeId,
    heldYuan: call.reservedNano === null ? null : formatYuan(call.reservedNano),
    heldTokens: call.reservedTokens,
    startedAt: instantToWire(facts.startedAtMs ?? call.reservedAt.getTime()),
    reservedAt: call.reservedAt.toISOString(),
  };
}

const SHOWN_TOKENS = shownUnits.filter((unit) => usageUnits[unit].side !== 'other');
const SHOWN_OTHERS = shownUnits.filter((unit) => usageUnits[unit].side === 'other');

/** Counts by unit: tokens, images and the other units. */
function usageToWire({ units, images }: CallRecord): Record<string, number> {
  const counts = (names: readonly UnitName[]) => Object.fromEntries(names.map((unit) => [unit, units[unit]]));
  return { ...counts(SHOWN_TOKENS), images, ...counts(SHOWN_OTHERS) };
}

function innerModelToWire({ chargeNano, used, pricedBy, price, ...inner }: InnerModelNote) {
  return {
    ...inner,
    chargeYuan: formatYuan(BigInt(chargeNano)),
    usage: used ?? null,
    pricedBy: pricedByToWire(pricedBy),
    price: price === undefined ? null : { rule: price.rule, ...pricesToWire(price.prices) },
  };
}

function pricedByToWire(pricedBy: PricedBy | undefined) {
  if (pricedBy?.images === undefined) return pricedBy ?? null;
  const images = pricedBy.images.map(({ count, priceNano }) => ({ count, priceYuan: formatYuan(BigInt(priceNano)) }));
  return { ...pricedBy, images };
}

type PricesOnWire = { [name: string]: string | PricesOnWire };

/** `inputNanoPerMillion: "4000000000"` as `inputYuanPerMillion: "4"`; what the model is not charged by is absent. */
function pricesToWire(prices: RecordedPrices): PricesOnWire {
  const shown: PricesOnWire = {};
  for (const [name, price] of Object.entries(prices)) {
    if (price === null) continue;
    shown[name.replace('Nano', 'Yuan')] = typeof price === 'string' ? formatYuan(BigInt(price)) : pricesToWire(price);
  }
  return shown;
}
