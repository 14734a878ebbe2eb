import {
  bigintColumn,
  type CountsOf,
  countColumn,
  countedTable,
  instantColumn,
  listColumn,
  orNull,
  type RowOf,
  type TermsOf,
  tableColumns,
  textColumn,
} from '../../db/table.ts';

/**
 * The limits of keys and of the people of an account, and what is counted for them. What people set and read of them, what limits calls,
 * what a key that replaces another one takes over, and which counters an audit recomputes follows from here.
 *
 * A row whose `key_id` is the id of a person limits that person by all keys that are that person's. It stays when the person leaves the
 * account: keys may be left, and whoever comes back goes on with what is used.
 */

/** The ids of people begin so, and those of keys do not. */
const PERSON = 'usr_';

export const isPersonId = (ownerId: string): boolean => ownerId.startsWith(PERSON);

/** SQL: whether a row of limits is of a key. */
export const isOfKey = (ownerId: string): string => `not starts_with(${ownerId}, '${PERSON}')`;

const CAPS = {
  /** What it may spend in a day, a week and a month of the billing time zone, and in all. */
  dailySpendCapNano: orNull(bigintColumn('daily_spend_cap_nano')),
  weeklySpendCapNano: orNull(bigintColumn('weekly_spend_cap_nano')),
  monthlySpendCapNano: orNull(bigintColumn('monthly_spend_cap_nano')),
  totalSpendCapNano: orNull(bigintColumn('total_spend_cap_nano')),
  dailyCallsMax: orNull(countColumn('daily_calls_max')),
  concurrencyMax: orNull(countColumn('concurrency_max')),
};

/** What a key may use; `null` means not limited. */
export const LIMITS = tableColumns(CAPS);
export type KeyLimits = RowOf<typeof LIMITS>;

/** What a person may use; the models of a key are in the directory. */
export const MEMBER_LIMITS = tableColumns({ ...CAPS, allowedModels: orNull(listColumn('allowed_models')) });
export type MemberLimits = RowOf<typeof MEMBER_LIMITS>;

/** The periods that are counted. */
const PERIODS = {
  /** Of the day that `spentNano` and `calls` count. */
  dayBeganAtMs: instantColumn('day_began_at'),
  /** How many days were begun: reservations name by it the one in which they are counted. */
  dayNo: countColumn('day_no'),
  weekBeganAtMs: instantColumn('week_began_at'),
  weekNo: countColumn('week_no'),
  monthBeganAtMs: instantColumn('month_began_at'),
  monthNo: countColumn('month_no'),
};

/** What is used in them, which a key that replaces this one goes on with. */
const USED = {
  spentNano: bigintColumn('spent_nano'),
  weekSpentNano: bigintColumn('week_spent_nano'),
  monthSpentNano: bigintColumn('month_spent_nano'),
  totalSpentNano: bigintColumn('total_spent_nano'),
  calls: countColumn('calls'),
};

/** How what is used is recomputed. */
interface KeyCounterTerms {
  /** What findings of an audit call it. */
  readonly counter: string;
  /** What it counts in; `null`: in all. */
  readonly period: 'day' | 'week' | 'month' | null;
  /** The records that it is a sum of. */
  readonly of: 'charges' | 'calls';
  /** What `counted_before` calls it, which has what no record of this key says. */
  readonly before: string;
}

const COUNTERS = {
  spentNano: { counter: 'day', period: 'day', of: 'charges', before: 'spent' },
  weekSpentNano: { counter: 'week', period: 'week', of: 'charges', before: 'weekSpent' },
  monthSpentNano: { counter: 'month', period: 'month', of: 'charges', before: 'monthSpent' },
  totalSpentNano: { counter: 'all', period: null, of: 'charges', before: 'allSpent' },
  calls: { counter: 'calls', period: 'day', of: 'calls', before: 'calls' },
} as const satisfies { readonly [Field in keyof typeof USED]: KeyCounterTerms };

type Counted = keyof typeof COUNTERS;
export type KeyCounter = (typeof COUNTERS)[Counted]['counter'];

/** With their columns. */
export const KEY_COUNTERS = (Object.keys(USED) as Counted[]).map((field) => ({
  ...COUNTERS[field],
  column: USED[field].name,
}));

/** What a key that replaces another one has of it. */
export const TAKEN_OVER = tableColumns({ ...CAPS, ...PERIODS, ...USED });

/** What calls in flight hold, and how many records there are: it stays with the key. */
const OWN = {
  reservedNano: bigintColumn('reserved_nano'),
  inFlight: countColumn('in_flight'),
  /** How many records of calls say that they count among its calls. */
  useNo: countColumn('use_no'),
};

export const KEY_LIMITS = countedTable('key_limits', {
  key: ['accountId', 'keyId'],
  terms: { accountId: textColumn('account_id'), keyId: textColumn('key_id'), ...CAPS },
  counts: { ...PERIODS, ...USED, ...OWN },
});

export type KeyTerms = TermsOf<typeof KEY_LIMITS>;
export type KeyCounts = CountsOf<typeof KEY_LIMITS>;
