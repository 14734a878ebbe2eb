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
 * Prefix of user ids. A row with a user id as `key_id` limits this member across all keys; it stays when the member leaves. A row with a
 * `budgetId` as `key_id` has the budgets of a key or a member for one model, and only such a row has `owner_id` and `model`. Rows of end
 * users and tags are described in `caller-budget-ids.ts`; those with a budget have the kind as `owner_id`.
 */

const USER_ID_PREFIX = 'usr_';

export const isPersonId = (ownerId: string): boolean => ownerId.startsWith(USER_ID_PREFIX);

/** SQL: whether a row limits a key, not a member. */
export const isOfKey = (ownerId: string): string => `not starts_with(${ownerId}, '${USER_ID_PREFIX}')`;

/** Maximum spend per period in the billing time zone. */
const SPEND_CAPS = {
  dailySpendCapNano: orNull(bigintColumn('daily_spend_cap_nano')),
  weeklySpendCapNano: orNull(bigintColumn('weekly_spend_cap_nano')),
  monthlySpendCapNano: orNull(bigintColumn('monthly_spend_cap_nano')),
  totalSpendCapNano: orNull(bigintColumn('total_spend_cap_nano')),
};

/** For one model. */
export const MODEL_BUDGET = tableColumns(SPEND_CAPS);
export type ModelBudget = RowOf<typeof MODEL_BUDGET>;

export const hasBudget = (caps: ModelBudget): boolean =>
  (caps.dailySpendCapNano ?? caps.weeklySpendCapNano ?? caps.monthlySpendCapNano ?? caps.totalSpendCapNano) !== null;

const CAPS = {
  ...SPEND_CAPS,
  dailyCallsMax: orNull(countColumn('daily_calls_max')),
  concurrencyMax: orNull(countColumn('concurrency_max')),
};

export const LIMITS = tableColumns(CAPS);
export type KeyLimits = RowOf<typeof LIMITS>;

/** Limits of members. Unlike the allowed models of keys, which are in the directory, those of members are in this table. */
export const MEMBER_LIMITS = tableColumns({ ...CAPS, allowedModels: orNull(listColumn('allowed_models')) });
export type MemberLimits = RowOf<typeof MEMBER_LIMITS>;

const PERIODS = {
  dayBeganAtMs: instantColumn('day_began_at'),
  /** Number of the day that the counter counts. A reservation stores it, so that its end counts in the same day. */
  dayNo: countColumn('day_no'),
  weekBeganAtMs: instantColumn('week_began_at'),
  weekNo: countColumn('week_no'),
  monthBeganAtMs: instantColumn('month_began_at'),
  monthNo: countColumn('month_no'),
};

/** Counters that a new key inherits from the key that it replaces. */
const USED = {
  spentNano: bigintColumn('spent_nano'),
  weekSpentNano: bigintColumn('week_spent_nano'),
  monthSpentNano: bigintColumn('month_spent_nano'),
  totalSpentNano: bigintColumn('total_spent_nano'),
  calls: countColumn('calls'),
};

interface KeyCounterTerms {
  readonly counter: string;
  /** The period after which the counter starts over; `null`: never. */
  readonly period: 'day' | 'week' | 'month' | null;
  readonly of: 'charges' | 'calls';
  /** Name of the counter in `counted_before`, which has the use inherited from a replaced key. Records of the new key do not contain it. */
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

export const KEY_COUNTERS = (Object.keys(USED) as Counted[]).map((field) => ({
  ...COUNTERS[field],
  column: USED[field].name,
}));

export const TAKEN_OVER = tableColumns({ ...CAPS, ...PERIODS, ...USED });

const OWN = {
  reservedNano: bigintColumn('reserved_nano'),
  inFlight: countColumn('in_flight'),
  /** Number of calls that this row has counted. Each call record stores the number of its call. */
  useNo: countColumn('use_no'),
};

export const KEY_LIMITS = countedTable('key_limits', {
  key: ['accountId', 'keyId'],
  terms: { accountId: textColumn('account_id'), keyId: textColumn('key_id'), ...CAPS },
  counts: { ...PERIODS, ...USED, ...OWN },
});

export type KeyTerms = TermsOf<typeof KEY_LIMITS>;
export type KeyCounts = CountsOf<typeof KEY_LIMITS>;
