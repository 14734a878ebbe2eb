import {
  bigintColumn,
  type Changing,
  type CountsOf,
  countColumn,
  countedTable,
  instantColumn,
  jsonbColumn,
  jsonColumn,
  orNull,
  type RowOf,
  type RowOfFields,
  type TermsOf,
  tableColumns,
  textColumn,
} from '../../db/table.ts';

/**
 * A column `…BeganAtMs` is the start of a counted period; `accounting/counts/counted-since.ts` decides whether this period continues. The
 * columns of keys are in `accounting/accounts/key-limit-tables.ts`.
 */

export const BALANCES = countedTable('balances', {
  key: ['accountId'],
  terms: {
    accountId: textColumn('account_id'),
    /** The operator's daily cap; `null`: the cap in the configuration applies. */
    dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
    /** The owners' daily cap, which can only lower the operator's; `null`: none. */
    ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
    priceFactorBasisPoints: countColumn('price_factor_basis_points'),
  },
  counts: {
    balanceNano: bigintColumn('balance_nano'),
    reservedNano: bigintColumn('reserved_nano'),
    /** Start of the day to which `spentNano` belongs. */
    dayBeganAtMs: instantColumn('day_began_at'),
    /** Number of the counted day. Records store it to identify the day that counts them. Other columns `…No` are used in the same way. */
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
    /** Number of rows in `plan_slots`. An expired slot counts until it is deleted. */
    slots: countColumn('slots'),
    weekBeganAtMs: instantColumn('week_began_at'),
    weekNo: countColumn('week_no'),
    weekCalls: countColumn('week_calls'),
    periodBeganAtMs: instantColumn('period_began_at'),
    periodNo: countColumn('period_no'),
    periodTokens: countColumn('period_tokens'),
    periodReservedTokens: countColumn('period_reserved_tokens'),
    inFlight: countColumn('in_flight'),
    /** Number of calls that this subscription has counted. Each call record stores the number of its call. */
    useNo: countColumn('use_no'),
  },
});

export type SubscriptionRow = RowOf<typeof SUBSCRIPTIONS.columns>;
export type SubscriptionTerms = TermsOf<typeof SUBSCRIPTIONS>;

export const RATE_LIMITS = countedTable('rate_limits', {
  key: ['accountId', 'keyId', 'model'],
  terms: {
    accountId: textColumn('account_id'),
    /** Key with the limit; empty: the limit belongs to the account. */
    keyId: textColumn('key_id'),
    /** Model with the limit; empty: the limit applies to all models together. */
    model: textColumn('model'),
    /** Limits per minute; `null`: unlimited or, for an account, the limit in the configuration. */
    requestsMax: orNull(countColumn('requests_max')),
    tokensMax: orNull(countColumn('tokens_max')),
  },
  // Use is counted in 60,000ths of a request or token, so a limit of n per minute frees exactly n of these units per millisecond.
  counts: {
    /** When the other counts were valid. */
    countedAtMs: instantColumn('counted_at'),
    requestsUsed: countColumn('requests_used'),
    tokensUsed: countColumn('tokens_used'),
  },
});

export type RateRow = RowOf<typeof RATE_LIMITS.columns>;
export type RateCounts = CountsOf<typeof RATE_LIMITS>;

/** Level of a bucket after a call: its use, the limit, which determines how fast it drains, and the instant (`limits/rate-bucket.ts`). */
export type RateFill = readonly [used: number, max: number, countedAtMs: number];

/** What each limit needs at the end of a call, stored at its admission; `null`: the limit does not apply. */
const NOTES = {
  /** Money reserved from the balance. */
  amountNano: orNull(bigintColumn('amount_nano')),
  subscriptionId: orNull(textColumn('subscription_id')),
  /** Week and plan period in which the call was admitted. */
  weekNo: orNull(countColumn('week_no')),
  periodNo: orNull(countColumn('period_no')),
  /** Tokens reserved from the plan's quota. */
  tokens: orNull(countColumn('tokens')),
  /** Money reserved from the key's budgets; 0 for a call on a plan. */
  keyAmountNano: orNull(bigintColumn('key_amount_nano')),
  /** Number of the key's day in which the call counts. */
  keyDayNo: orNull(countColumn('key_day_no')),
  /** The member whose limits count the call. */
  memberId: orNull(textColumn('member_id')),
  memberDayNo: orNull(countColumn('member_day_no')),
  /** The budgets for the model, of the key and of the member, that have reserved `amountNano`. */
  keyBudgetId: orNull(textColumn('key_budget_id')),
  memberBudgetId: orNull(textColumn('member_budget_id')),
  /** The budgets of the end user and the tags that have reserved `amountNano`. */
  callerBudgetIds: orNull(jsonbColumn<readonly string[]>('caller_budget_ids')),
  rateTokens: orNull(countColumn('rate_tokens')),
  /** Levels of the buckets after the admission, in the order of `placesOf`; `null` if a bucket has no token limit. */
  rateFills: orNull(jsonColumn<readonly (RateFill | null)[]>('rate_fills')),
};

export type LimitNotes = Changing<RowOfFields<typeof NOTES>>;

export const NOT_LIMITED = Object.fromEntries(Object.keys(NOTES).map((field) => [field, null])) as LimitNotes;

/** One row per call in flight, from its admission to its end, with its maximum use of each limit. */
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

export const RESERVED_LIMITS = tableColumns({ keyId: textColumn('key_id'), ...NOTES });

/** SQL: whether a reservation `r` still has its slot. A scalar subquery uses the index; `exists` might scan all slots. */
export const HAS_SLOT = `r.subscription_id is not null and coalesce(
    (select true from plan_slots p where p.account_id = r.account_id and p.call_id = r.call_id), false
  ) as has_slot`;
