import { type Parameter, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { type RowOf, selection, textColumn } from '../../db/table.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../../lib/slices.ts';
import type { CallStatus } from './call-outcome.ts';

/**
 * The SQL of lists of call records. Newest first: ids sort by time. Only what an index leads to bounds a slice; the rest of a filter
 * is looked for among its rows, so a rare value makes more slices and none of them slow.
 */

export interface CallFilter {
  readonly accountId: string | null;
  /** Without the account that has it, the calls of all of them are looked through. */
  readonly keyId: string | null;
  /** Calls of these keys alone, which are of one account that is named too. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly status: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** A call, by its primary key; the instant as the database writes it. */
const CALL_KEYS = selection({
  accountId: textColumn('f.account_id'),
  id: textColumn('f.id'),
  startedAt: textColumn('f.started_at::text as started_at'),
});

type CallKey = RowOf<typeof CALL_KEYS>;

/** Rows without a call end a slice. */
interface SliceEnd extends StoredRow {
  readonly last_id: string | null;
  readonly rows_read: number;
}

/** An id is made as the call starts, some milliseconds apart. A clock that is set in between may make it more. */
const ID_SLACK_MS = 600_000;

/** These statuses have an index of their own (`calls_by_status`), because few calls have them. */
const RARE: readonly string[] = ['failed', 'aborted', 'unresolved', 'resolved'] satisfies CallStatus[];

/** What bounds a slice. Each is a statement of its own: a plan for all of them would use no index. */
interface Bounds {
  readonly accountId: string | null;
  readonly status: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
  readonly beforeId: string | null;
}

/**
 * Plans: with an account its part of the primary key, backwards, in each month; with a rare status calls_by_status; else
 * calls_by_id. A time range leaves out months, and bounds the ids.
 */
function sliceOf({ accountId, status, from, to, beforeId }: Bounds): {
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
    // As a range and in this order, so that no plan walks the calls of all accounts until it has found enough of this one.
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
    name: ['calls.slice', ...names].join('-'),
    parameters,
    text: `with part as materialized (
  select c.account_id, c.id, c.started_at, c.key_id, c.model, c.status from calls c
  ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
  order by ${order} limit $1::int
),
found as (
  select account_id, id, started_at from part
  where ($3::text is null or key_id = $3) and ($4::text is null or model = $4) and ($5::text is null or status = $5)
    and ($6::text[] is null or key_id = any ($6::text[]))
  order by id desc limit $2::int
)
select ${CALL_KEYS.list}, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last left join found f on true
order by f.id desc`,
  };
}

/** Parameters that each of these statements has: rows, limit, key, model, status, own keys. */
const FIXED = 6;

/** Finds calls for lists, some rows at a time. */
export function createCallList(database: PartitionQueryable) {
  return async (
    filter: CallFilter,
    beforeId: string | null,
    limit: number,
    timing: SliceTiming,
  ): Promise<LookedThrough<CallKey>> => {
    const { accountId, keyId, ownKeyIds = null, model, status, from, to } = filter;
    const isByStatus = accountId === null && status !== null && RARE.includes(status);
    const bounds = { accountId, status: isByStatus ? status : null, from, to };
    const isExact = keyId === null && ownKeyIds === null && model === null && (status === null || isByStatus);
    return lookThrough({ start: beforeId, limit, isExact }, timing, async (behind, rows, wanted) => {
      const { name, text, parameters } = sliceOf({ ...bounds, beforeId: behind });
      const fixed = [rows, wanted, keyId, model, status, ownKeyIds === null ? null : toArray(ownKeyIds)];
      const found = await database.query<SliceEnd>({ name, text }, [...fixed, ...parameters]);
      const items = CALL_KEYS.all(found.filter(({ id }) => id !== null));
      const { last_id: lastId, rows_read: rowsRead } = found[0]!;
      if (items.length === wanted) return { items, next: items.at(-1)!.id };
      return { items, next: rowsRead < rows ? null : lastId };
    });
  };
}

/** Calls by their primary keys, for `unnest`. */
export function keyParameters(keys: readonly CallKey[]): string[] {
  return [keys.map((key) => key.accountId), keys.map((key) => key.id), keys.map((key) => key.startedAt)].map(toArray);
}
