import { type Parameter, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { type RowOf, selection, textColumn } from '../../db/table.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../../lib/slices.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { CallStatus } from './call-outcome.ts';

/** This file lists calls, newest first: each statement reads a batch of rows along an index and filters it. */

export interface CallFilter {
  readonly accountId: string | null;
  /** Key of the calls. Without an `accountId`, the calls of all accounts are scanned. */
  readonly keyId: string | null;
  /** Keys of a user; requires `accountId`. `null`: all keys. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly status: string | null;
  /** Facts about the caller that calls must have; `tags` has one. `null`: any. */
  readonly caller?: RecordedCaller | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** Columns that identify a call. The start is read as text, which keeps its microseconds. */
const CALL_KEYS = selection({
  accountId: textColumn('f.account_id'),
  id: textColumn('f.id'),
  startedAt: textColumn('f.started_at::text as started_at'),
});

type CallKey = RowOf<typeof CALL_KEYS>;

/** A row of a batch. If no call of the batch matches, there is one row without a call. */
interface BatchEnd extends StoredRow {
  readonly last_id: string | null;
  readonly rows_read: number;
}

/** Maximum difference between the time in a call's id and its recorded start. They differ if the clock was set in between. */
const ID_SLACK_MS = 600_000;

/** The statuses in the partial index `calls_by_status`. */
const RARE: readonly string[] = ['failed', 'aborted', 'unresolved', 'resolved'] satisfies CallStatus[];

/** Conditions that determine the statement. Each combination has its own, because one plan for all of them would use no index. */
interface Bounds {
  readonly accountId: string | null;
  readonly status: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly beforeId: string | null;
}

/** Selects a batch. Uses the primary key for an account, calls_by_status for a rare status, otherwise calls_by_id. */
function batchOf({ accountId, status, from, to, beforeId }: Bounds): {
  text: string;
  parameters: Parameter[];
  name: string;
} {
  const parameters: Parameter[] = [];
  const names: string[] = [];
  const where: string[] = [];
  const bound = (name: string, condition: (value: string) => string, value: Parameter): void => {
    parameters.push(value);
    names.push(name);
    where.push(condition(`$${parameters.length + FIXED}`));
  };
  let order = 'c.id desc';
  if (accountId !== null) {
    // The condition is a range: with a range and this order, the planner does not scan calls of other accounts.
    bound('account', (value) => `c.account_id >= ${value}::text and c.account_id <= ${value}::text`, accountId);
    order = 'c.account_id desc, c.id desc';
  } else if (status !== null) {
    names.push(status);
    where.push(`c.status = '${status}'`);
  }
  if (beforeId !== null) bound('before', (value) => `c.id < ${value}::text`, beforeId);
  if (from !== null) {
    bound('from', (value) => `c.started_at >= ${value}::timestamptz`, from);
    bound('from-id', (value) => `c.id >= ${value}::text`, firstIdAt('call', from.getTime() - ID_SLACK_MS));
  }
  if (to !== null) {
    bound('to', (value) => `c.started_at < ${value}::timestamptz`, to);
    bound('to-id', (value) => `c.id < ${value}::text`, firstIdAt('call', to.getTime() + ID_SLACK_MS));
  }
  return {
    name: ['calls.batch', ...names].join('-'),
    parameters,
    text: `with part as materialized (
  select c.account_id, c.id, c.started_at, c.key_id, c.model, c.status, c.caller from calls c
  ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
  order by ${order} limit $1::int
),
found as (
  select account_id, id, started_at from part
  where ($3::text is null or key_id = $3) and ($4::text is null or model = $4) and ($5::text is null or status = $5)
    and ($6::text[] is null or key_id = any ($6::text[])) and ($7::jsonb is null or caller @> $7::jsonb)
  order by id desc limit $2::int
)
select ${CALL_KEYS.list}, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last left join found f on true
order by f.id desc`,
  };
}

/** Number of parameters that every statement has: rows, limit, key, model, status, own keys, caller. */
const FIXED = 7;

export function createCallList(database: PartitionQueryable) {
  return async (
    filter: CallFilter,
    beforeId: string | null,
    limit: number,
    timing: SliceTiming,
  ): Promise<LookedThrough<CallKey>> => {
    const { accountId, keyId, ownKeyIds = null, model, status, caller = null, from, to } = filter;
    const isByStatus = accountId === null && status !== null && RARE.includes(status);
    const bounds = { accountId, status: isByStatus ? status : null, from, to };
    const isFiltered = [keyId, ownKeyIds, model, caller].some((each) => each !== null);
    const isExact = !isFiltered && (status === null || isByStatus);
    return lookThrough({ start: beforeId, limit, isExact }, timing, async (after, rows, wanted) => {
      const { name, text, parameters } = batchOf({ ...bounds, beforeId: after });
      const ownKeys = ownKeyIds === null ? null : toArray(ownKeyIds);
      const fixed = [rows, wanted, keyId, model, status, ownKeys, caller && JSON.stringify(caller)];
      const found = await database.query<BatchEnd>({ name, text }, [...fixed, ...parameters]);
      const items = CALL_KEYS.all(found.filter(({ id }) => id !== null));
      const { last_id: lastId, rows_read: rowsRead } = found[0]!;
      if (items.length === wanted) return { items, next: items.at(-1)!.id };
      return { items, next: rowsRead < rows ? null : lastId };
    });
  };
}

export function keyParameters(keys: readonly CallKey[]): string[] {
  return [keys.map((key) => key.accountId), keys.map((key) => key.id), keys.map((key) => key.startedAt)].map(toArray);
}
