import { type Parameter, type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { bigintColumn, countColumn, type RowOf, selection } from '../../db/table.ts';
import { byUnit, type UnitCounts } from '../../protocols/metering/usage-units.ts';
import { measures, REFUND_COLUMN, unitMeasures } from './measures.ts';
import { sqlTimezone } from './sql-timezone.ts';

/**
 * The SQL of sums of one partition. Those of final calls are read from `usage_rollups` of accounts, or `usage_totals` of all of
 * them; unresolved calls, which are few and may still change, from their records.
 */

/** What sums are grouped by, in the order in which they are sorted. */
const DIMENSIONS = {
  account: 'u.account_id',
  key: 'u.key_id',
  month: `to_char(u.day, 'YYYY-MM')`,
  day: `to_char(u.day, 'YYYY-MM-DD')`,
  model: 'u.model',
  provider: 'u.provider',
  status: 'u.status',
  context: 'u.context',
} as const;

export type Dimension = keyof typeof DIMENSIONS;
export const dimensions = Object.keys(DIMENSIONS) as readonly Dimension[];

/** Which calls are summed. Days are those of the billing time zone; `to` is the first one that is not. */
export interface UsageFilter {
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** Calls of these keys alone, which are of one account that is named too. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly provider: string | null;
  readonly status: string | null;
  readonly context: string | null;
  readonly from: string | null;
  readonly to: string | null;
}

/** Whose usage is summed: of all accounts, of one, or of those from an id up to another one that is not among them. */
export type UsageScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'account'; readonly accountId: string }
  | AccountWindow;

export interface AccountWindow {
  readonly kind: 'window';
  readonly from: string;
  /** `null`: to the last one. */
  readonly to: string | null;
}

export interface UsageQuery {
  /** In the order of `dimensions`. */
  readonly groupBy: readonly Dimension[];
  readonly filter: UsageFilter;
  /** For days of records that are not summed yet. */
  readonly timezone: string;
}

const UNITS = selection(Object.fromEntries(unitMeasures.map(({ unit, column }) => [unit, countColumn(column)]))).to(
  (units): UnitCounts => ({ ...byUnit(() => 0), ...units }),
);

/** All measures, and what unresolved calls hold. */
const SUMS = selection({
  calls: countColumn('calls'),
  chargeNano: bigintColumn('charge_nano'),
  refundNano: bigintColumn(REFUND_COLUMN),
  costNano: bigintColumn('cost_nano'),
  /** Calls with usage whose cost is not known. */
  uncostedCalls: countColumn('uncosted_calls'),
  /** What unresolved calls had reserved. */
  reservedNano: bigintColumn('reserved_nano'),
  images: countColumn('images'),
  units: UNITS,
});

/** Sums of one group. */
export interface GroupSums extends RowOf<typeof SUMS> {
  /** The values of `groupBy`, in its order. */
  readonly group: readonly string[];
}

const SUM_COLUMNS = measures.map(({ column }) => column);

/** How a statement names accounts; `open` has no upper end. Their parameters follow those of the cursor. */
type ScopeKind = 'all' | 'account' | 'window' | 'open';

/** Parameters before those of the cursor. */
const FIRST_PARAMETERS = 9;

/**
 * The statement of a grouping: 256 groupings in four scopes are the most that a connection prepares. Plan: usage_rollups by
 * primary key, of one account or of a window; usage_totals by primary key; calls_by_status in each month.
 */
function sumStatement(groupBy: readonly Dimension[], scope: ScopeKind): Statement {
  // By their bytes, so that all partitions have one order, whatever the databases sort by (`merged-groups.ts`).
  const keys = groupBy.map((name) => `(${DIMENSIONS[name]} collate "C")`);
  const keyList = keys.join(', ');
  const cursor = keys.map((_, i) => `$${FIRST_PARAMETERS + 1 + i}::text`).join(', ');
  const behind = keys.length === 0 ? '$9::boolean is not null' : `(not $9::boolean or (${keyList}) > (${cursor}))`;
  const groups = keys.map((key, i) => `${key} as group_${i}`);
  const table = scope === 'all' ? 'usage_totals' : 'usage_rollups';
  const ofAccount = scope === 'all' ? '' : 'account_id, key_id, ';
  const filters = `($1::text is null or model = $1) and ($2::text is null or provider = $2)
      and ($3::text is null or status = $3) and ($4::text is null or context = $4)
      ${scopeFilter(scope, FIRST_PARAMETERS + 1 + keys.length)}`;
  const unresolvedSums = SUM_COLUMNS.map((name) => (name === 'calls' ? '1::bigint' : '0::bigint'));
  const days = `day >= coalesce($5::date, '-infinity') and day < coalesce($6::date, 'infinity')`;
  return {
    // Engines cut longer names.
    name: `usage.sum-${scope}-${dimensions.map((name) => (groupBy.includes(name) ? 1 : 0)).join('')}`,
    text: `select ${[...groups, ...SUM_COLUMNS.map((name) => `sum(u.${name})::bigint as ${name}`)].join(', ')},
  sum(u.reserved_nano)::bigint as reserved_nano
from (
  select ${ofAccount}day, model, provider, status, context, ${SUM_COLUMNS.join(', ')}, 0::bigint as reserved_nano
  from ${table}
  where ${days} and ${filters}
  union all
  select * from (
    select ${ofAccount}(ended_at at time zone $7::text)::date as day, model, provider, status, context,
      ${unresolvedSums.join(', ')}, coalesce(reserved_nano, 0)
    from calls
    where status = 'unresolved' and ${filters}
  ) unresolved
  where ${days}
) u
where ${behind}
${keys.length === 0 ? 'having count(*) > 0' : `group by ${keyList} order by ${keyList}`}
limit $8::int`,
  };
}

function scopeFilter(scope: ScopeKind, first: number): string {
  const key = `and ($${first}::text is null or key_id = $${first})`;
  switch (scope) {
    case 'all':
      return '';
    case 'account':
      return `${key} and account_id = $${first + 1}::text
      and ($${first + 2}::text[] is null or key_id = any ($${first + 2}::text[]))`;
    case 'open':
      return `${key} and account_id >= $${first + 1}::text`;
    case 'window':
      return `${key} and account_id >= $${first + 1}::text and account_id < $${first + 2}::text`;
  }
}

const statements = new Map<string, Statement>();

function statementFor(groupBy: readonly Dimension[], scope: ScopeKind): Statement {
  const key = `${scope} ${groupBy.join(' ')}`;
  let statement = statements.get(key);
  if (statement === undefined) {
    statement = sumStatement(groupBy, scope);
    statements.set(key, statement);
  }
  return statement;
}

interface SumRow extends StoredRow {
  readonly [key: `group_${number}`]: string;
}

/** At most `limit` groups behind `after`, which has the values of the group before. */
export async function sumGroups(
  partition: PartitionLane,
  { groupBy, filter, timezone }: UsageQuery,
  scope: UsageScope,
  after: readonly string[] | null,
  limit: number,
): Promise<GroupSums[]> {
  const { model, provider, status, context, from, to, keyId, ownKeyIds = null } = filter;
  const zone = sqlTimezone(timezone);
  const parameters: Parameter[] = [model, provider, status, context, from, to, zone, limit, after !== null];
  parameters.push(...groupBy.map((_, i) => after?.[i] ?? null));
  if (scope.kind === 'account') {
    parameters.push(keyId, scope.accountId, ownKeyIds === null ? null : toArray(ownKeyIds));
  }
  if (scope.kind === 'window') parameters.push(keyId, scope.from, ...(scope.to === null ? [] : [scope.to]));
  const kind = scope.kind === 'window' && scope.to === null ? 'open' : scope.kind;
  const rows = await partition.query<SumRow>(statementFor(groupBy, kind), parameters);
  return rows.map((row) => ({ group: groupBy.map((_, i) => row[`group_${i}`]!), ...SUMS.read(row) }));
}
