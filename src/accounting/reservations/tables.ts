import {
  bigintColumn,
  type ColumnsOf,
  CountedTable,
  countColumn,
  instantColumn,
  jsonColumn,
  orNull,
  TableColumns,
  textColumn,
} from '../../db/table.ts';
import type {
  KeyCounts,
  KeyTerms,
  MoneyCounts,
  MoneyTerms,
  RateCounts,
  RateTerms,
  SubscriptionCounts,
  SubscriptionTerms,
} from './account-state.ts';
import type { LimitNotes, Reservation } from './reservation.ts';

/**
 * The columns of everything that limits a call. All statements that read or write these tables follow from this list; a
 * field of the state that has no column here does not compile.
 */

export const BALANCES = new CountedTable<MoneyTerms, MoneyCounts>('balances', {
  key: ['accountId'],
  terms: {
    accountId: textColumn('account_id'),
    dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
    ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
    priceFactorBasisPoints: countColumn('price_factor_basis_points'),
  },
  counts: {
    balanceNano: bigintColumn('balance_nano'),
    reservedNano: bigintColumn('reserved_nano'),
    dayBeganAtMs: instantColumn('day_began_at'),
    dayNo: countColumn('day_no'),
    spentNano: bigintColumn('spent_nano'),
    lastEntryNo: bigintColumn('last_entry_no'),
  },
});

export const KEY_LIMITS = new CountedTable<KeyTerms, KeyCounts>('key_limits', {
  key: ['accountId', 'keyId'],
  terms: {
    accountId: textColumn('account_id'),
    keyId: textColumn('key_id'),
    dailySpendCapNano: orNull(bigintColumn('daily_spend_cap_nano')),
    weeklySpendCapNano: orNull(bigintColumn('weekly_spend_cap_nano')),
    monthlySpendCapNano: orNull(bigintColumn('monthly_spend_cap_nano')),
    totalSpendCapNano: orNull(bigintColumn('total_spend_cap_nano')),
    dailyCallsMax: orNull(countColumn('daily_calls_max')),
    concurrencyMax: orNull(countColumn('concurrency_max')),
  },
  counts: {
    dayBeganAtMs: instantColumn('day_began_at'),
    dayNo: countColumn('day_no'),
    spentNano: bigintColumn('spent_nano'),
    weekBeganAtMs: instantColumn('week_began_at'),
    weekNo: countColumn('week_no'),
    weekSpentNano: bigintColumn('week_spent_nano'),
    monthBeganAtMs: instantColumn('month_began_at'),
    monthNo: countColumn('month_no'),
    monthSpentNano: bigintColumn('month_spent_nano'),
    totalSpentNano: bigintColumn('total_spent_nano'),
    calls: countColumn('calls'),
    reservedNano: bigintColumn('reserved_nano'),
    inFlight: countColumn('in_flight'),
    useNo: countColumn('use_no'),
  },
});

export const SUBSCRIPTIONS = new CountedTable<SubscriptionTerms, SubscriptionCounts>('subscriptions', {
  key: ['accountId', 'id'],
  terms: {
    accountId: textColumn('account_id'),
    id: textColumn('id'),
    planId: textColumn('plan_id'),
    startsAtMs: instantColumn('starts_at'),
    endsAtMs: instantColumn('ends_at'),
  },
  counts: {
    slots: countColumn('slots'),
    weekBeganAtMs: instantColumn('week_began_at'),
    weekNo: countColumn('week_no'),
    weekCalls: countColumn('week_calls'),
    periodBeganAtMs: instantColumn('period_began_at'),
    periodNo: countColumn('period_no'),
    periodTokens: countColumn('period_tokens'),
    periodReservedTokens: countColumn('period_reserved_tokens'),
    inFlight: countColumn('in_flight'),
    useNo: countColumn('use_no'),
  },
});

export const RATE_LIMITS = new CountedTable<RateTerms, RateCounts>('rate_limits', {
  key: ['accountId', 'keyId', 'model'],
  terms: {
    accountId: textColumn('account_id'),
    keyId: textColumn('key_id'),
    model: textColumn('model'),
    requestsMax: orNull(countColumn('requests_max')),
    tokensMax: orNull(countColumn('tokens_max')),
  },
  counts: {
    countedAtMs: instantColumn('counted_at'),
    requestsUsed: countColumn('requests_used'),
    tokensUsed: countColumn('tokens_used'),
  },
});

/** What limits note of a call in flight. */
const NOTES: ColumnsOf<LimitNotes> = {
  amountNano: orNull(bigintColumn('amount_nano')),
  subscriptionId: orNull(textColumn('subscription_id')),
  weekNo: orNull(countColumn('week_no')),
  periodNo: orNull(countColumn('period_no')),
  tokens: orNull(countColumn('tokens')),
  keyAmountNano: orNull(bigintColumn('key_amount_nano')),
  keyDayNo: orNull(countColumn('key_day_no')),
  rateTokens: orNull(countColumn('rate_tokens')),
  rateFills: orNull(jsonColumn('rate_fills')),
};

/** One row a call in flight. */
export const RESERVATIONS = new TableColumns<Reservation>({
  accountId: textColumn('account_id'),
  callId: textColumn('call_id'),
  keyId: textColumn('key_id'),
  model: textColumn('model'),
  nodeId: textColumn('node_id'),
  reservedAtMs: instantColumn('reserved_at'),
  facts: textColumn('facts'),
  ...NOTES,
});

/** Of that, what the end of the call reads beside its name. */
export const RESERVED_LIMITS = new TableColumns<Pick<Reservation, 'keyId'> & LimitNotes>({
  keyId: textColumn('key_id'),
  ...NOTES,
});

/**
 * SQL: whether the call of a reservation `r` still has its slot. A query for one value is always an index lookup; `exists`
 * may be planned as a read of all slots. Plan: plan_slots by primary key.
 */
export const HAS_SLOT = `r.subscription_id is not null and coalesce(
    (select true from plan_slots p where p.account_id = r.account_id and p.call_id = r.call_id), false
  ) as has_slot`;
