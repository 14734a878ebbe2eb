import { columnsOf } from '../../db/columns.ts';
import type { Statement, StoredRow } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { booleanColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import { ofEachPartition } from '../partitions/routes.ts';
import {
  type AccountWindow,
  type Dimension,
  type GroupSums,
  sumGroups,
  type UsageQuery,
  type UsageScope,
} from './group-sums-store.ts';
import { mergeGroups } from './merged-groups.ts';

/** Usage of all partitions: sums by group, with the names of accounts and keys. */

export interface UsageRow extends GroupSums, GroupNames {}

export interface Completeness {
  /** The sums include all calls whose end was stored before this time; `null`: unknown. */
  readonly until: Date | null;
  /** Whether the sums include all imported records. */
  readonly isBackfilled: boolean;
}

interface KnownDays {
  readonly first: string;
  readonly last: string;
}

export interface UsageStore {
  /** Returns sums of groups that sort after the group `after`; `null`: of the first groups. */
  sum(query: UsageQuery, scope: UsageScope, after: readonly string[] | null, limit: number): Promise<UsageRow[]>;
  /** Returns the window of `accounts` accounts that starts at an account id. */
  windowFrom(accountId: string, accounts: number): Promise<AccountWindow>;
  /** Returns the first and last day with sums, of an account or of all accounts; `null`: no day has sums. */
  knownDays(accountId: string | null): Promise<KnownDays | null>;
  accountOfKey(keyId: string): Promise<string | null>;
  readCompleteness(accountId: string | null): Promise<Completeness>;
}

const NAMES = selection({
  accountName: orNull(textColumn('a.name as account_name')),
  keyName: orNull(textColumn('k.name as key_name')),
  keyPrefix: orNull(textColumn('k.prefix as key_prefix')),
});

type GroupNames = RowOf<typeof NAMES>;

const NO_NAMES: GroupNames = { accountName: null, keyName: null, keyPrefix: null };

/** Selects names of accounts and keys. Uses primary keys. */
const selectNames: Statement = {
  name: 'usage.select-names',
  text: `select v.position, ${NAMES.list}
from unnest($1::text[], $2::text[]) with ordinality as v (account_id, key_id, position)
left join accounts a on a.id = v.account_id
left join api_keys k on k.account_id = v.account_id and k.id = v.key_id`,
};

/** Selects the first account id after a window. Uses the primary key. */
const selectBoundary: Statement = {
  name: 'usage.select-boundary',
  text: 'select id from accounts where id >= $1::text order by id offset $2::int limit 1',
};

/** Selects the first and last day with sums, by one row from each end of a primary key. */
const selectDays: Statement = {
  name: 'usage.select-days',
  text: `select min(day)::text as first, max(day)::text as last from usage_totals`,
};
const selectDaysOfAccount: Statement = {
  name: 'usage.select-days-of-account',
  text: `select min(day)::text as first, max(day)::text as last from usage_rollups where account_id = $1::text`,
};

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
 * Selects until when the sums are complete. If a row of the queue is missing here, its sum is written, or its call is committed later. The
 * queue is short. Records are found with calls_by_id of each month.
 */
const selectCompleteness: Statement = {
  name: 'usage.select-completeness',
  text: `select ${COMPLETENESS.list} from usage_backfill b`,
};

async function readDays(partition: PartitionPool, accountId: string | null): Promise<KnownDays | null> {
  type Row = { readonly first: string | null; readonly last: string | null };
  const [row] =
    accountId === null
      ? await partition.query<Row>(selectDays)
      : await partition.query<Row>(selectDaysOfAccount, [accountId]);
  const { first, last } = row!;
  return first === null || last === null ? null : { first, last };
}

async function readCompleteness(partition: PartitionPool): Promise<Completeness> {
  const [row] = await partition.query(selectCompleteness);
  const { isBackfilled, until, backfilledUntil } = COMPLETENESS.read(row!);
  if (isBackfilled) return { isBackfilled, until };
  const isEarlier = backfilledUntil !== null && backfilledUntil < until;
  return { isBackfilled, until: isEarlier ? backfilledUntil : null };
}

export function createUsageStore({ directory, partitions }: PlacedPools): UsageStore {
  async function namesOf(groups: readonly GroupSums[], groupBy: readonly Dimension[]): Promise<readonly GroupNames[]> {
    const [account, key] = [groupBy.indexOf('account'), groupBy.indexOf('key')];
    if (account < 0 || groups.length === 0) return groups.map(() => NO_NAMES);
    const names = columnsOf(
      groups,
      ({ group }) => group[account]!,
      ({ group }) => (key < 0 ? null : group[key]!),
    );
    const found = await directory.query<StoredRow & { readonly position: bigint }>(selectNames, names);
    const inOrder = found.toSorted((left, right) => Number(left.position - right.position));
    return NAMES.all(inOrder);
  }

  /** @param accountId `null`: all partitions */
  async function ask<Result>(accountId: string | null, read: (partition: PartitionPool) => Promise<Result>) {
    return accountId === null ? ofEachPartition(partitions, read) : [await read(await partitions.of(accountId))];
  }

  return {
    async sum(query, scope, after, limit) {
      const pages = await ask(scope.kind === 'account' ? scope.accountId : null, (partition) =>
        sumGroups(partition, query, scope, after, limit),
      );
      const groups = mergeGroups(pages, limit);
      const names = await namesOf(groups, query.groupBy);
      return groups.map((group, i) => ({ ...group, ...names[i]! }));
    },
    async windowFrom(accountId, accounts) {
      const [row] = await directory.query<{ id: string }>(selectBoundary, [accountId, accounts]);
      return { kind: 'window', from: accountId, to: row?.id ?? null };
    },
    knownDays: async (accountId) => mergeDays(await ask(accountId, (partition) => readDays(partition, accountId))),
    async accountOfKey(keyId) {
      const [row] = await directory.query<{ account_id: string }>(selectAccountOfKey, [keyId]);
      return row?.account_id ?? null;
    },
    readCompleteness: async (accountId) => leastComplete(await ask(accountId, readCompleteness)),
  };
}

function mergeDays(ofPartitions: readonly (KnownDays | null)[]): KnownDays | null {
  const known = ofPartitions.filter((days) => days !== null);
  if (known.length === 0) return null;
  return {
    first: known.map(({ first }) => first).reduce((left, right) => (right < left ? right : left)),
    last: known.map(({ last }) => last).reduce((left, right) => (right > left ? right : left)),
  };
}

function leastComplete(ofPartitions: readonly Completeness[]): Completeness {
  const isBackfilled = ofPartitions.every((each) => each.isBackfilled);
  const untils = ofPartitions.map(({ until }) => until);
  // If one partition does not know the time, it is unknown.
  return {
    isBackfilled,
    until: untils.reduce((left, right) => (left !== null && (right === null || right < left) ? right : left)),
  };
}
