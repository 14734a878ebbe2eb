import { type Parameter, type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { bigintColumn, countColumn, type RowOf, selection } from '../../db/table.ts';
import { byUnit, type UnitCounts } from '../../protocols/metering/usage-units.ts';
import { measures, REFUND_COLUMN, unitMeasures } from './measures.ts';
import { EARNING_DAYS, earnedSql } from './plan-revenue.ts';
import { sqlTimezone } from './sql-timezone.ts';

/**
 * Sums final calls from `usage_rollups` (by account), `usage_totals` (all accounts) or `usage_callers` (by end user, program or tag), and
 * unresolved calls from their records.
 */

/** What usage can be grouped by. Groups are sorted in this order. */
const DIMENSIONS = {
  account: 'u.account_id',
  key: 'u.key_id',
  /** The group of the account at admission, or when its plan was sold; empty: none. */
  group: 'u.group_id',
  month: `to_char(u.day, 'YYYY-MM')`,
  day: `to_char(u.day, 'YYYY-MM-DD')`,
  model: 'u.model',
  provider: 'u.provider',
  status: 'u.status',
  context: 'u.context',
  /** A value that callers choose; empty: the values beyond the number that an account can have in a day. */
  endUser: 'u.value',
  program: 'u.value',
  tag: 'u.value',
} as const;

export type Dimension = keyof typeof DIMENSIONS;
export const dimensions = Object.keys(DIMENSIONS) as readonly Dimension[];

/** Dimensions whose values callers choose. */
export const CALLER_DIMENSIONS = ['endUser', 'program', 'tag'] as const satisfies readonly Dimension[];
export type CallerDimension = (typeof CALLER_DIMENSIONS)[number];

export const isCallerDimension = (name: Dimension): name is CallerDimension =>
  (CALLER_DIMENSIONS as readonly Dimension[]).includes(name);

/** Dimensions that a query can have together with one of `CALLER_DIMENSIONS`. Further ones would need too many prepared statements. */
export const WITH_CALLER: ReadonlySet<Dimension> = new Set(['account', 'key', 'month', 'day', 'model']);

/** Which usage is summed. Days are in the billing time zone; `to` is exclusive. */
export interface UsageFilter {
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** Keys of a user; requires `accountId`. `null`: all keys. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly provider: string | null;
  readonly status: string | null;
  readonly context: string | null;
  readonly from: string | null;
  readonly to: string | null;
}

/** Accounts whose usage is summed. The end of an account window is exclusive. */
export type UsageScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'account'; readonly accountId: string }
  | AccountWindow;

export interface AccountWindow {
  readonly kind: 'window';
  readonly from: string;
  /** Account at which the window ends; `null`: it has no end. */
  readonly to: string | null;
}

export interface UsageQuery {
  /** What usage is grouped by, in the order of `dimensions`. */
  readonly groupBy: readonly Dimension[];
  readonly filter: UsageFilter;
  /** Time zone in which unresolved calls are assigned to days. */
  readonly timezone: string;
  /** Plan revenue is included for days before this one; `null`: not included. */
  readonly earnedUntil?: string | null;
}

/** Dimensions by which plan revenue is known. A plan has no key, model, provider or status. */
const EARNING: ReadonlySet<Dimension> = new Set(['account', 'group', 'month', 'day', 'context']);

export function hasPlanRevenue({ groupBy, filter, earnedUntil = null }: UsageQuery): boolean {
  const { keyId, ownKeyIds = null, model, provider, status } = filter;
  const isOfCalls = [keyId, ownKeyIds, model, provider, status].some((each) => each !== null);
  return earnedUntil !== null && !isOfCalls && groupBy.every((name) => EARNING.has(name));
}

const UNITS = selection(Object.fromEntries(unitMeasures.map(({ unit, column }) => [unit, countColumn(column)]))).to(
  (units): UnitCounts => ({ ...byUnit(() => 0), ...units }),
);

const SUMS = selection({
  calls: countColumn('calls'),
  chargeNano: bigintColumn('charge_nano'),
  refundNano: bigintColumn(REFUND_COLUMN),
  costNano: bigintColumn('cost_nano'),
  /** Calls with usage whose cost is unknown. */
  uncostedCalls: countColumn('uncosted_calls'),
  /** Amount reserved by unresolved calls. */
  reservedNano: bigintColumn('reserved_nano'),
  /** This member and the next two are sums for calls on a plan only. */
  planCalls: countColumn('plan_calls'),
  planCostNano: bigintColumn('plan_cost_nano'),
  planUncostedCalls: countColumn('plan_uncosted_calls'),
  planRevenueNano: bigintColumn('plan_revenue_nano'),
  /** Net charge and cost on the balance, only of days, models and providers whose calls all have a known cost. */
  costedNetNano: bigintColumn('costed_net_nano'),
  costedCostNano: bigintColumn('costed_cost_nano'),
  images: countColumn('images'),
  units: UNITS,
});

export interface GroupSums extends RowOf<typeof SUMS> {
  /** Values of the dimensions, in the order of `groupBy`. */
  readonly group: readonly string[];
}

const SUM_COLUMNS = measures.map(({ column }) => column);

/** Kinds of scopes. `open`: a window without an end. The scope's parameters follow those of the cursor. */
type ScopeKind = 'all' | 'account' | 'window' | 'open';

const FIRST_PARAMETERS = 10;

/**
 * Each grouping and scope has its own statement. A connection prepares at most 608 groupings in four scopes, 32 of them also with plan
 * revenue. Uses the primary keys of usage_rollups, usage_totals, usage_callers and plan_periods, usage_callers_by_day, calls_by_status of each
 * month, and plan_periods_by_end.
 */
function sumStatement(groupBy: readonly Dimension[], scope: ScopeKind, hasRevenue: boolean): Statement {
  // Sorting by bytes gives all partitions the same order, whatever their collation (`merged-groups.ts`).
  const keys = groupBy.map((name) => `(${DIMENSIONS[name]} collate "C")`);
  const keyList = keys.join(', ');
  const cursor = keys.map((_, i) => `$${FIRST_PARAMETERS + 1 + i}::text`).join(', ');
  const behind = keys.length === 0 ? '$9::boolean is not null' : `(not $9::boolean or (${keyList}) > (${cursor}))`;
  const groups = keys.map((key, i) => `${key} as group_${i}`);
  const caller = groupBy.find(isCallerDimension) ?? null;
  const table = caller !== null ? 'usage_callers' : scope === 'all' ? 'usage_totals' : 'usage_rollups';
  const value = caller === null ? '' : 'value, ';
  const ofAccount = scope === 'all' ? '' : 'account_id, key_id, ';
  const filters = `($1::text is null or model = $1) and ($2::text is null or provider = $2)
      and ($3::text is null or status = $3) and ($4::text is null or context = $4)
      ${scopeFilter(scope, FIRST_PARAMETERS + 1 + keys.length)}`;
  const unresolvedSums = SUM_COLUMNS.map((name) => (name === 'calls' ? '1::bigint' : '0::bigint'));
  const days = `day >= coalesce($5::date, '-infinity') and day < coalesce($6::date, 'infinity')`;
  return {
    // Named by digits, because PostgreSQL truncates names to 63 bytes.
    name: `usage.sum-${scope}-${dimensions.map((name) => (groupBy.includes(name) ? 1 : 0)).join('')}${hasRevenue ? '-earned' : ''}`,
    text: `select ${[...groups, ...SUM_COLUMNS.map((name) => `sum(u.${name})::bigint as ${name}`)].join(', ')},
  sum(u.reserved_nano)::bigint as reserved_nano, sum(u.plan_revenue_nano)::bigint as plan_revenue_nano,
  ${PLAN_SUMS}, ${COSTED_SUMS}
from (
  select ${ofAccount}${value}day, model, provider, status, context, group_id, ${SUM_COLUMNS.join(', ')}, 0::bigint as reserved_nano,
    0::bigint as plan_revenue_nano
  from ${table}
  where ${days} and ${filters}${caller === null ? '' : ` and kind = '${caller}'`}
  union all
  select * from (
    select ${ofAccount}${value}(ended_at at time zone $7::text)::date as day, model, provider, status, context,
      coalesce(group_id, '') as group_id, ${unresolvedSums.join(', ')}, coalesce(reserved_nano, 0), 0::bigint
    from calls${caller === null ? '' : ` cross join lateral ${CALLER_VALUES[caller]} as v (value)`}
    where status = 'unresolved' and ${filters}${caller === null ? '' : ' and v.value is not null'}
  ) unresolved
  where ${days}${hasRevenue ? `\n  union all\n  ${earnedRows(groupBy, scope, FIRST_PARAMETERS + 1 + keys.length)}` : ''}
) u
where ${behind} and coalesce($10::text, '') is not null
${keys.length === 0 ? 'having count(*) > 0' : `group by ${keyList} order by ${keyList}`}
limit $8::int`,
  };
}

/** SQL: the values of a recorded caller. */
const CALLER_VALUES: Readonly<Record<CallerDimension, string>> = {
  endUser: `(select caller ->> 'endUser')`,
  program: `(select caller ->> 'program')`,
  tag: `jsonb_array_elements_text(caller -> 'tags')`,
};

const PLAN_SUMS = (['calls', 'cost_nano', 'uncosted_calls'] as const)
  .map((name) => `coalesce(sum(u.${name}) filter (where u.context = 'coding'), 0)::bigint as plan_${name}`)
  .join(', ');

const COSTED_SUMS = (
  [
    ['costed_net_nano', 'u.charge_nano - u.refund_nano'],
    ['costed_cost_nano', 'u.cost_nano'],
  ] as const
)
  .map(
    ([name, amount]) =>
      `coalesce(sum(${amount}) filter (where u.context <> 'coding' and u.uncosted_calls = 0), 0)::bigint as ${name}`,
  )
  .join(', ');

/** SQL: revenue of plan periods; one row per day if groups are by day or month, otherwise one per period. */
function earnedRows(groupBy: readonly Dimension[], scope: ScopeKind, first: number): string {
  const ofAccount = scope === 'all' ? '' : `p.account_id, '' as key_id, `;
  const isByDay = groupBy.includes('day') || groupBy.includes('month');
  const [row, from, to] = isByDay ? ['day.n', 'day.n', 'day.n + 1'] : ['0', 'p.first_n', 'p.behind_n'];
  return `select ${ofAccount}p.first_day + ${row}, '' as model, '' as provider, '' as status, 'coding' as context,
    coalesce(p.group_id, '') as group_id, ${SUM_COLUMNS.map(() => '0::bigint').join(', ')}, 0::bigint, ${earnedSql(to)} - ${earnedSql(from)}
  from (
    select p.*, greatest(0, coalesce($5::date - p.first_day, 0)) as first_n,
      least(${EARNING_DAYS}, $6::date - p.first_day, $10::date - p.first_day) as behind_n
    from plan_periods p join subscriptions s on s.account_id = p.account_id and s.id = p.subscription_id
    where p.first_day < least($6::date, $10::date) and p.first_day + p.days > coalesce($5::date, '-infinity')
      and ($4::text is null or $4 = 'coding') ${accountFilter(scope, first, 'p.')}
  ) p
  ${isByDay ? 'cross join lateral generate_series(p.first_n, p.behind_n - 1) as day (n)' : ''}
  where p.first_n < p.behind_n`;
}

/** SQL: the condition for the accounts of a scope. `table` is a prefix of columns, such as `p.`. */
function accountFilter(scope: ScopeKind, first: number, table = ''): string {
  const [accountId, from, to] = [`${table}account_id`, `$${first + 1}::text`, `$${first + 2}::text`];
  switch (scope) {
    case 'all':
      return '';
    case 'account':
      return `and ${accountId} = ${from}`;
    case 'open':
      return `and ${accountId} >= ${from}`;
    case 'window':
      return `and ${accountId} >= ${from} and ${accountId} < ${to}`;
  }
}

function scopeFilter(scope: ScopeKind, first: number): string {
  if (scope === 'all') return '';
  const ofKeys = `and ($${first + 2}::text[] is null or key_id = any ($${first + 2}::text[]))`;
  return `and ($${first}::text is null or key_id = $${first}) ${accountFilter(scope, first)}
      ${scope === 'account' ? ofKeys : ''}`;
}

const statements = new Map<string, Statement>();

function statementFor(groupBy: readonly Dimension[], scope: ScopeKind, hasRevenue: boolean): Statement {
  const key = `${scope} ${hasRevenue} ${groupBy.join(' ')}`;
  let statement = statements.get(key);
  if (statement === undefined) {
    statement = sumStatement(groupBy, scope, hasRevenue);
    statements.set(key, statement);
  }
  return statement;
}

interface SumRow extends StoredRow {
  readonly [key: `group_${number}`]: string;
}

export async function sumGroups(
  partition: PartitionPool,
  query: UsageQuery,
  scope: UsageScope,
  after: readonly string[] | null,
  limit: number,
): Promise<GroupSums[]> {
  const { groupBy, filter, timezone, earnedUntil = null } = query;
  const { model, provider, status, context, from, to, keyId, ownKeyIds = null } = filter;
  const zone = sqlTimezone(timezone);
  const parameters: Parameter[] = [
    model,
    provider,
    status,
    context,
    from,
    to,
    zone,
    limit,
    after !== null,
    earnedUntil,
  ];
  parameters.push(...groupBy.map((_, i) => after?.[i] ?? null));
  if (scope.kind === 'account') {
    parameters.push(keyId, scope.accountId, ownKeyIds === null ? null : toArray(ownKeyIds));
  }
  if (scope.kind === 'window') parameters.push(keyId, scope.from, ...(scope.to === null ? [] : [scope.to]));
  const kind = scope.kind === 'window' && scope.to === null ? 'open' : scope.kind;
  const rows = await partition.query<SumRow>(statementFor(groupBy, kind, hasPlanRevenue(query)), parameters);
  return rows.map((row) => ({ group: groupBy.map((_, i) => row[`group_${i}`]!), ...SUMS.read(row) }));
}
