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
 * The columns of everything that limits a call but the limits of keys (`accounting/accounts/key-limit-tables.ts`). The types of the
 * state, and all statements that read or write these tables, follow from this list.
 *
 * `…BeganAtMs` is the beginning of the day, week, month or period that is counted, by the terms at that time; whether it still counts:
 * `accounting/counts/counted-since.ts`.
 */

export const BALANCES = countedTable('balances', {
  key: ['accountId'],
  terms: {
    accountId: textColumn('account_id'),
    /** `null`: the configuration's cap. */
    dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
    /** The cap that the owners of the account set below it. */
    ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
    /** What the account pays of the list price. */
    priceFactorBasisPoints: countColumn('price_factor_basis_points'),
  },
  counts: {
    balanceNano: bigintColumn('balance_nano'),
    reservedNano: bigintColumn('reserved_nano'),
    /** Of the day that `spentNano` counts. */
    dayBeganAtMs: instantColumn('day_began_at'),
    /** How many days were begun: records name by it the one in which they are counted, as by the other `…No`. */
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
    /** Rows of `plan_slots`; those that are older than five hours count until they are deleted. */
    slots: countColumn('slots'),
    weekBeganAtMs: instantColumn('week_began_at'),
    /** How many weeks were begun: reservations name by it the one in which they are counted. As `periodNo`. */
    weekNo: countColumn('week_no'),
    weekCalls: countColumn('week_calls'),
    periodBeganAtMs: instantColumn('period_began_at'),
    periodNo: countColumn('period_no'),
    periodTokens: countColumn('period_tokens'),
    periodReservedTokens: countColumn('period_reserved_tokens'),
    inFlight: countColumn('in_flight'),
    /** How many records of calls say that they count here. */
    useNo: countColumn('use_no'),
  },
});

export type SubscriptionRow = RowOf<typeof SUBSCRIPTIONS.columns>;
export type SubscriptionTerms = TermsOf<typeof SUBSCRIPTIONS>;

/** What an account or a key, for all models or for one, may use in a minute, and has used. */
export const RATE_LIMITS = countedTable('rate_limits', {
  key: ['accountId', 'keyId', 'model'],
  terms: {
    accountId: textColumn('account_id'),
    /** Empty: of the account. */
    keyId: textColumn('key_id'),
    /** Empty: of all models together. */
    model: textColumn('model'),
    /** `null`: not limited, or where it is the account's, as the configuration says. */
    requestsMax: orNull(countColumn('requests_max')),
    tokensMax: orNull(countColumn('tokens_max')),
  },
  // In 60,000ths, of which a limit of n a minute frees n in a millisecond.
  counts: {
    /** The instant as of which the others are. */
    countedAtMs: instantColumn('counted_at'),
    requestsUsed: countColumn('requests_used'),
    tokensUsed: countColumn('tokens_used'),
  },
});

export type RateRow = RowOf<typeof RATE_LIMITS.columns>;
export type RateCounts = CountsOf<typeof RATE_LIMITS>;

/** A bucket of tokens as a call has left it: what was used, when, and the limit by which it drains (`limits/rate-bucket.ts`). */
export type RateFill = readonly [used: number, max: number, countedAtMs: number];

/** What limits note of a call at its admission, for its end; `null` if they do not limit it. */
const NOTES = {
  /** Of the balance. */
  amountNano: orNull(bigintColumn('amount_nano')),
  subscriptionId: orNull(textColumn('subscription_id')),
  /** The week and the period of the subscription in which the call was admitted, as these are numbered. */
  weekNo: orNull(countColumn('week_no')),
  periodNo: orNull(countColumn('period_no')),
  /** Of the plan's token quota. */
  tokens: orNull(countColumn('tokens')),
  /** Of the key's daily spending; 0 on a plan. */
  keyAmountNano: orNull(bigintColumn('key_amount_nano')),
  /** The day on which the key counts the call, as its days are numbered. */
  keyDayNo: orNull(countColumn('key_day_no')),
  /** The person whose limits count the call, and the day on which they do, as those of the key. */
  memberId: orNull(textColumn('member_id')),
  memberDayNo: orNull(countColumn('member_day_no')),
  /** What was taken of the tokens of a minute. */
  rateTokens: orNull(countColumn('rate_tokens')),
  /** How full that left the buckets of the call, in the order of its places; `null`: no limit of tokens stands there. */
  rateFills: orNull(jsonColumn<readonly (RateFill | null)[]>('rate_fills')),
};

export type LimitNotes = Changing<RowOfFields<typeof NOTES>>;

/** The notes of a call that nothing limits. */
export const NOT_LIMITED = Object.fromEntries(Object.keys(NOTES).map((field) => [field, null])) as LimitNotes;

/** One row a call in flight: what it may use of all limits that it has, from its admission to its end. */
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

/** Each limit sets its own notes. */
export interface Reservation extends Omit<RowOf<typeof RESERVATIONS>, keyof LimitNotes>, LimitNotes {}

/** Of that, what the end of the call reads beside its name. */
export const RESERVED_LIMITS = tableColumns({ keyId: textColumn('key_id'), ...NOTES });

/**
 * SQL: whether the call of a reservation `r` still has its slot. A query for one value is always an index lookup; `exists`
 * may be planned as a read of all slots. Plan: plan_slots by primary key.
 */
export const HAS_SLOT = `r.subscription_id is not null and coalesce(
    (select true from plan_slots p where p.account_id = r.account_id and p.call_id = r.call_id), false
  ) as has_slot`;
