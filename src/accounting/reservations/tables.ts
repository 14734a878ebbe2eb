import {
  bigintColumn,
  type Changing,
  type CountsOf,
  countColumn,
  countedTable,
  instantColumn,
  jsonColumn,
  orNull,
  type RowOf,
  type RowOfFields,
  type TermsOf,
  tableColumns,
  textColumn,
} from '../../db/table.ts';

/**
 * The columns of all limits of a call, except limits of keys (`accounting/accounts/key-limit-tables.ts`). The types of the state, and all
 * statements that read or write these tables, are derived from this list.
 *
 * `…BeganAtMs` is the beginning of the counted day, week, month or period by the terms at that time. `accounting/counts/counted-since.ts`
 * decides whether it still counts.
 */

export const BALANCES = countedTable('balances', {
  key: ['accountId'],
  terms: {
    accountId: textColumn('account_id'),
    /** `null`: the configuration's cap. */
    dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
    /** A lower cap that the owners of the account set. */
    ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
    /** The fraction of the list price that the account pays, in basis points. */
    priceFactorBasisPoints: countColumn('price_factor_basis_points'),
  },
  counts: {
    balanceNano: bigintColumn('balance_nano'),
    reservedNano: bigintColumn('reserved_nano'),
    /** Start of the day for `spentNano`. */
    dayBeganAtMs: instantColumn('day_began_at'),
    /** Number of days begun; records refer by it to the day in which they count. The same holds for the other `…No`. */
    dayNo: countColumn('day_no'),
    spentNano: bigintColumn('spent_nano'),
    lastEntryNo: bigintColumn('last_entry_no'),
  },
});

export type BalanceRow = RowOf<typeof BALANCES.columns>;

export const SUBSCRIPTIONS = countedTable('subscriptions', {
  key: ['accountId', 'id'],
  terms: {
    accountId: textColumn('account_id'),
    id: textColumn('id'),
    planId: textColumn('plan_id'),
    startsAtMs: instantColumn('starts_at'),
    endsAtMs: instantColumn('ends_at'),
  },
  counts: {
    /** Rows of `plan_slots`; expired ones count until they are deleted. */
    slots: countColumn('slots'),
    weekBeganAtMs: instantColumn('week_began_at'),
    /** Number of weeks begun; reservations refer by it to the week in which they count. The same holds for `periodNo`. */
    weekNo: countColumn('week_no'),
    weekCalls: countColumn('week_calls'),
    periodBeganAtMs: instantColumn('period_began_at'),
    periodNo: countColumn('period_no'),
    periodTokens: countColumn('period_tokens'),
    periodReservedTokens: countColumn('period_reserved_tokens'),
    inFlight: countColumn('in_flight'),
    /** Number of call records that have a use number of this subscription. */
    useNo: countColumn('use_no'),
  },
});

export type SubscriptionRow = RowOf<typeof SUBSCRIPTIONS.columns>;
export type SubscriptionTerms = TermsOf<typeof SUBSCRIPTIONS>;

export const RATE_LIMITS = countedTable('rate_limits', {
  key: ['accountId', 'keyId', 'model'],
  terms: {
    accountId: textColumn('account_id'),
    /** Empty: the limit of the account. */
    keyId: textColumn('key_id'),
    /** Empty: the limit of all models together. */
    model: textColumn('model'),
    /** `null`: unlimited; for an account, the configuration's limit. */
    requestsMax: orNull(countColumn('requests_max')),
    tokensMax: orNull(countColumn('tokens_max')),
  },
  // In 60,000ths, of which a limit of n per minute frees n per millisecond.
  counts: {
    /** The instant to which the other counts refer. */
    countedAtMs: instantColumn('counted_at'),
    requestsUsed: countColumn('requests_used'),
    tokensUsed: countColumn('tokens_used'),
  },
});

export type RateRow = RowOf<typeof RATE_LIMITS.columns>;
export type RateCounts = CountsOf<typeof RATE_LIMITS>;

/** The level of a bucket of tokens after a call: what was used, the limit by which it drains, and when (`limits/rate-bucket.ts`). */
export type RateFill = readonly [used: number, max: number, countedAtMs: number];

/** What limits record of a call at its admission, for its end; `null`: the limit does not apply. */
const NOTES = {
  /** Reserved of the balance. */
  amountNano: orNull(bigintColumn('amount_nano')),
  subscriptionId: orNull(textColumn('subscription_id')),
  /** Numbers of the subscription's week and period in which the call was admitted. */
  weekNo: orNull(countColumn('week_no')),
  periodNo: orNull(countColumn('period_no')),
  /** Reserved of the plan's token quota. */
  tokens: orNull(countColumn('tokens')),
  /** Reserved of the key's budgets; 0 on a plan. */
  keyAmountNano: orNull(bigintColumn('key_amount_nano')),
  /** Number of the key's day in which the call counts. */
  keyDayNo: orNull(countColumn('key_day_no')),
  /** The member whose limits count the call, and the number of the member's day in which it counts. */
  memberId: orNull(textColumn('member_id')),
  memberDayNo: orNull(countColumn('member_day_no')),
  /** Tokens taken from the buckets. */
  rateTokens: orNull(countColumn('rate_tokens')),
  /** The levels of the call's buckets after it, in the order of `placesOf`; `null`: no token limit there. */
  rateFills: orNull(jsonColumn<readonly (RateFill | null)[]>('rate_fills')),
};

export type LimitNotes = Changing<RowOfFields<typeof NOTES>>;

export const NOT_LIMITED = Object.fromEntries(Object.keys(NOTES).map((field) => [field, null])) as LimitNotes;

/** One row per call in flight: what it may use of all its limits, from its admission to its end. */
export const RESERVATIONS = tableColumns({
  accountId: textColumn('account_id'),
  callId: textColumn('call_id'),
  keyId: textColumn('key_id'),
  model: textColumn('model'),
  nodeId: textColumn('node_id'),
  reservedAtMs: instantColumn('reserved_at'),
  facts: textColumn('facts'),
  ...NOTES,
});

export interface Reservation extends Omit<RowOf<typeof RESERVATIONS>, keyof LimitNotes>, LimitNotes {}

/** What the end of a call reads of its reservation besides the call's name. */
export const RESERVED_LIMITS = tableColumns({ keyId: textColumn('key_id'), ...NOTES });

/** SQL: whether a reservation `r` still has its slot. A scalar subquery is an index lookup; `exists` may become a scan of all slots. */
export const HAS_SLOT = `r.subscription_id is not null and coalesce(
    (select true from plan_slots p where p.account_id = r.account_id and p.call_id = r.call_id), false
  ) as has_slot`;
