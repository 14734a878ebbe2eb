import { z } from 'zod';
import type { RateLimits, RateMaxima } from '../../accounting/accounts/rate-limit-store.ts';
import type { Account } from '../../accounting/accounts/store.ts';
import type { BalanceState, LedgerEntry } from '../../accounting/ledger/ledger-store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { Subscription } from '../../accounting/plans/subscriptions-store.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { formatYuan, parseYuan } from '../../lib/yuan.ts';
import { buyerResponse } from './parties.ts';
import { at, count, listOf, yuan } from './response-fields.ts';
import { shown } from './shown.ts';
import { storable } from './storable.ts';

/** Maximum amount: a hundred million yuan, so that sums of the ledger cannot overflow. */
const AMOUNT_NANO_MAX = 100_000_000n * 1_000_000_000n;

export const amountYuan = z
  .string({ error: 'Expected a decimal string in yuan, such as "12.50".' })
  .meta({
    description: 'An amount in yuan: a decimal string.',
    pattern: '^-?\\d{1,15}(\\.\\d{1,9})?$',
    examples: ['100'],
  })
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

export const wholeNumber = (min: number, max: number, error: string) =>
  z.number({ error }).int({ error }).min(min, { error }).max(max, { error });

const boundedText = storable(
  z.string({ error: 'Expected text.' }).min(1, 'Must not be empty.').max(200, 'At most 200 characters.'),
);

/** A short text. White space around it is removed. */
export const shortText = z
  .string({ error: 'Expected text.' })
  .trim()
  .pipe(boundedText.refine(isPlainText, 'Must not contain control characters or bidirectional marks.'));

export const filterText = boundedText;

const EXPECTED_INSTANT = 'Expected an instant in ISO 8601, such as 2026-11-20T12:00:00Z.';

/** An instant. Years after 9999 have no common form in ISO 8601. */
export const instant = z.iso
  .datetime({ offset: true, error: EXPECTED_INSTANT })
  .transform((text) => new Date(text))
  .refine((date) => date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999, { error: EXPECTED_INSTANT });

export const page = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: filterText.optional(),
};

/** Converts items to a page. A full page has a cursor for the next one. */
export function toPage<Item>(
  data: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => string,
): { data: readonly Item[]; nextCursor: string | null } {
  const last = data.at(-1);
  return { data, nextCursor: last !== undefined && data.length === limit ? cursorOf(last) : null };
}

const maxima = { requestsPerMinute: count.nullable(), tokensPerMinute: count.nullable() };

/** Limits per minute; `null`: no limit. */
export const rateLimits = { ...maxima, modelLimits: z.record(z.string(), z.strictObject(maxima)) };

const accountStatus = z.enum(['active', 'suspended']);

/** Whether records of calls have facts about their callers (`docs/callers.md`). */
export const recording = z.strictObject({ clientAddress: z.boolean(), program: z.boolean(), endUser: z.boolean() });

export const accountResponse = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    verified: z.boolean(),
    status: accountStatus,
    statusReason: z.string().nullable(),
    statusChangedAt: at.nullable(),
    balanceYuan: yuan,
    heldYuan: yuan.describe('The part of the balance that calls in flight have reserved.'),
    spentTodayYuan: yuan,
    dailySpendCapYuan: yuan
      .nullable()
      .describe('The daily cap of the account; null: the cap in the configuration applies.'),
    ownDailySpendCapYuan: yuan
      .nullable()
      .describe('The daily cap that the owners of the account have set. The lower of the two caps applies.'),
    priceFactorBasisPoints: count.describe(
      'The share of the list price that the account pays; 10000 is the list price.',
    ),
    ...rateLimits,
    groupId: z.string().nullable().describe('The group of the account; null: none.'),
    allowedModels: listOf(z.string()).nullable().describe('The models that the account may use; null: all.'),
    membersSeeBalance: z
      .boolean()
      .describe('Whether keys of members can read the balance. If not, they read what is left of their own budgets.'),
    recording: recording.describe(
      'What the account records of the callers of its calls, in addition to the configuration.',
    ),
    buyer: buyerResponse
      .nullable()
      .describe('Who receives statements, receipts and invoices; null: the owners have not entered it.'),
    createdAt: at,
  })
  .meta({ id: 'Account' });
export type AccountResponse = z.infer<typeof accountResponse>;

export function accountToWire(account: Account, balance: BalanceState | undefined, rates: RateLimits): AccountResponse {
  return shown(accountResponse, {
    ...account,
    balanceYuan: formatYuan(balance?.balanceNano ?? 0n),
    heldYuan: formatYuan(balance?.reservedNano ?? 0n),
    spentTodayYuan: formatYuan(balance?.spentTodayNano ?? 0n),
    dailySpendCapYuan: yuanOrNull(balance?.dailyCapNano ?? null),
    ownDailySpendCapYuan: yuanOrNull(balance?.ownDailyCapNano ?? null),
    priceFactorBasisPoints: balance?.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS,
    ...rateLimitsToWire(rates),
  });
}

export function yuanOrNull(amountNano: bigint | null): string | null {
  return amountNano === null ? null : formatYuan(amountNano);
}

export function rateLimitsToWire(limits: RateLimits) {
  const modelLimits = Object.fromEntries([...limits.models].map(([model, own]) => [model, maximaToWire(own)]));
  return { ...maximaToWire(limits), modelLimits };
}

function maximaToWire({ requestsMax, tokensMax }: RateMaxima) {
  return { requestsPerMinute: requestsMax, tokensPerMinute: tokensMax };
}

/** Returns the id of a ledger entry. It needs no column: it follows from the account and the number of the entry. */
export function ledgerEntryId(accountId: string, entryNo: bigint): string {
  return `le_${accountId.replace(/^acct_/, '')}_${entryNo}`;
}

/** Returns the account and the number of an entry; `null`: there cannot be such an entry. */
export function readLedgerEntryId(id: string): { readonly accountId: string; readonly entryNo: string } | null {
  const [, accountId, entryNo] = /^le_([0-9a-z]{1,64})_([1-9]\d{0,17})$/.exec(id) ?? [];
  return accountId === undefined || entryNo === undefined ? null : { accountId: `acct_${accountId}`, entryNo };
}

export const ledgerKind = z.enum(['top_up', 'charge', 'refund', 'adjustment']);

export const ledgerEntryResponse = z
  .strictObject({
    id: z.string(),
    kind: ledgerKind,
    amountYuan: yuan,
    balanceAfterYuan: yuan,
    callId: z.string().nullable(),
    memo: z.string().nullable(),
    reference: z
      .string()
      .nullable()
      .describe('What identifies the payment of a top-up, such as the number of a bank transfer.'),
    createdAt: at,
  })
  .meta({ id: 'LedgerEntry' });
export type LedgerEntryResponse = z.infer<typeof ledgerEntryResponse>;

export function ledgerEntryToWire(entry: LedgerEntry): LedgerEntryResponse {
  return shown(ledgerEntryResponse, {
    ...entry,
    id: ledgerEntryId(entry.accountId, entry.entryNo),
    amountYuan: formatYuan(entry.amountNano),
    balanceAfterYuan: formatYuan(entry.balanceAfterNano),
  });
}

const subscriptionState = z.enum(['active', 'scheduled', 'expired', 'canceled']);

export const subscriptionResponse = z
  .strictObject({
    id: z.string(),
    accountId: z.string(),
    planId: z.string(),
    planName: z
      .string()
      .nullable()
      .describe('The name of the plan; null: the configuration no longer contains the plan.'),
    status: subscriptionState,
    startsAt: at,
    endsAt: at,
    canceledAt: at.nullable(),
    createdAt: at,
  })
  .meta({ id: 'Subscription' });
export type SubscriptionResponse = z.infer<typeof subscriptionResponse>;

export function subscriptionToWire(
  subscription: Subscription,
  plans: readonly PlanTerms[],
  nowMs: number,
): SubscriptionResponse {
  return shown(subscriptionResponse, {
    ...subscription,
    planName: plans.find(({ id }) => id === subscription.planId)?.name ?? null,
    status: subscriptionStatus(subscription, nowMs),
  });
}

function subscriptionStatus(
  { startsAt, endsAt, canceledAt }: Subscription,
  nowMs: number,
): z.infer<typeof subscriptionState> {
  if (canceledAt !== null) return 'canceled';
  if (endsAt.getTime() <= nowMs) return 'expired';
  return startsAt.getTime() > nowMs ? 'scheduled' : 'active';
}

export function instantToWire(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
