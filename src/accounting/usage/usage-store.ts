import { columnsOf } from '../../db/columns.ts';
import { type Parameter, type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { HomeLanes } from '../../db/home-lanes.ts';
import {
  bigintColumn,
  booleanColumn,
  countColumn,
  dateColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import { byUnit, type UnitCounts } from '../../protocols/metering/usage-units.ts';
import { measures, REFUND_COLUMN, unitMeasures } from './measures.ts';
import { sqlTimezone } from './sql-timezone.ts';

/**
 * The SQL of what people ask about usage. Sums of final calls are read from `usage_rollups` of accounts, or `usage_totals` of
 * all of them; unresolved calls, which are few and may still change, from their records.
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

interface AccountWindow {
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
export interface UsageRow extends RowOf<typeof SUMS>, GroupNames {
  /** The values of `groupBy`, in its order. */
  readonly group: readonly string[];
}

/** How far the sums are. */
export interface Completeness {
  /** Calls whose end was stored before are in the sums. */
  readonly until: Date | null;
  /** Whether all records that an import brought are summed. */
  readonly isBackfilled: boolean;
}

export interface UsageStore {
  /** At most `limit` groups behind `after`, which has the values of the group before. */
  sum(query: UsageQuery, scope: UsageScope, after: readonly string[] | null, limit: number): Promise<UsageRow[]>;
  /** The window of so many accounts that begins with an id. */
  windowFrom(accountId: string, accounts: number): Promise<AccountWindow>;
  /** The first and the last day that has sums, of an account or of all of them; `null`: none has. */
  knownDays(accountId: string | null): Promise<{ readonly first: string; readonly last: string } | null>;
  accountOfKey(keyId: string): Promise<string | null>;
  readCompleteness(): Promise<Completeness>;
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
  const keys = groupBy.map((name) => DIMENSIONS[name]);
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

const NAMES = selection({
  accountName: orNull(textColumn('a.name as account_name')),
  keyName: orNull(textColumn('k.name as key_name')),
  keyPrefix: orNull(textColumn('k.prefix as key_prefix')),
});

/** Of the account and key of a group if it has one, and by what else lists show that key. */
type GroupNames = RowOf<typeof NAMES>;

const NO_NAMES: GroupNames = { accountName: null, keyName: null, keyPrefix: null };

/** Names of the accounts and keys of groups. Plans: primary keys. */
const selectNames: Statement = {
  name: 'usage.select-names',
  text: `select v.position, ${NAMES.list}
from unnest($1::text[], $2::text[]) with ordinality as v (account_id, key_id, position)
left join accounts a on a.id = v.account_id
left join api_keys k on k.account_id = v.account_id and k.id = v.key_id`,
};

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

/** The first id behind a window. Plan: primary key. */
const selectBoundary: Statement = {
  name: 'usage.select-boundary',
  text: 'select id from accounts where id >= $1::text order by id offset $2::int limit 1',
};

/** Plans: the ends of primary keys. */
const selectDays: Statement = {
  name: 'usage.select-days',
  text: `select min(day)::text as first, max(day)::text as last from usage_totals`,
};
const selectDaysOfAccount: Statement = {
  name: 'usage.select-days-of-account',
  text: `select min(day)::text as first, max(day)::text as last from usage_rollups where account_id = $1::text`,
};

/** Plan: api_keys_by_id. */
const selectAccountOfKey: Statement = {
  name: 'usage.select-account-of-key',
  text: 'select account_id from api_keys where id = $1::text',
};

const COMPLETENESS = selection({
  isBackfilled: booleanColumn('b.is_done'),
  until: dateColumn('coalesce((select min(queued_at) from usage_queue), now()) as until'),
  backfilledUntil: orNull(
    dateColumn('(select min(c.started_at) from calls c where c.id = b.last_call_id) as backfilled_until'),
  ),
});

/**
 * What was stored before `until` is in the sums: a row of the queue that is not seen here was deleted with its calls summed, or
 * is committed later than now. Plan: the queue is short; calls_by_id in each month.
 */
const selectCompleteness: Statement = {
  name: 'usage.select-completeness',
  text: `select ${COMPLETENESS.list} from usage_backfill b`,
};

interface SumRow extends StoredRow {
  readonly [key: `group_${number}`]: string;
}

export function createUsageStore({ directory, partition }: HomeLanes): UsageStore {
  /** One a group, in the same order. */
  async function namesOf(rows: readonly SumRow[], groupBy: readonly Dimension[]): Promise<readonly GroupNames[]> {
    const [account, key] = [groupBy.indexOf('account'), groupBy.indexOf('key')];
    if (account < 0 || rows.length === 0) return rows.map(() => NO_NAMES);
    const names = columnsOf(
      rows,
      (row) => row[`group_${account}`]!,
      (row) => (key < 0 ? null : row[`group_${key}`]!),
    );
    const found = await directory.query<StoredRow & { readonly position: bigint }>(selectNames, names);
    const inOrder = found.toSorted((left, right) => Number(left.position - right.position));
    return NAMES.all(inOrder);
  }

  return {
    async sum({ groupBy, filter, timezone }, scope, after, limit) {
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
      const names = await namesOf(rows, groupBy);
      return rows.map((row, i) => ({ ...toUsageRow(row, groupBy), ...names[i]! }));
    },
    async windowFrom(accountId, accounts) {
      const [row] = await directory.query<{ id: string }>(selectBoundary, [accountId, accounts]);
      return { kind: 'window', from: accountId, to: row?.id ?? null };
    },
    async knownDays(accountId) {
      const [row] =
        accountId === null
          ? await partition.query<{ first: string | null; last: string | null }>(selectDays)
          : await partition.query<{ first: string | null; last: string | null }>(selectDaysOfAccount, [accountId]);
      const { first, last } = row!;
      return first === null || last === null ? null : { first, last };
    },
    async accountOfKey(keyId) {
      const [row] = await directory.query<{ account_id: string }>(selectAccountOfKey, [keyId]);
      return row?.account_id ?? null;
    },
    async readCompleteness() {
      const [row] = await partition.query(selectCompleteness);
      const { isBackfilled, until, backfilledUntil } = COMPLETENESS.read(row!);
      if (isBackfilled) return { isBackfilled, until };
      const isEarlier = backfilledUntil !== null && backfilledUntil < until;
      return { isBackfilled, until: isEarlier ? backfilledUntil : null };
    },
  };
}

function toUsageRow(row: SumRow, groupBy: readonly Dimension[]): Omit<UsageRow, keyof GroupNames> {
  return { group: groupBy.map((_, i) => row[`group_${i}`]!), ...SUMS.read(row) };
}
