import { EVERYBODY, type OwnedBy } from '../accounting/calls/calls-store.ts';
import { toTimestamp } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import { DELETED_ROWS_MAX, deleteInBatches } from '../db/expired-rows-store.ts';
import { createFilteredList } from '../db/filtered-list.ts';
import type { DirectoryPool } from '../db/home-pools.ts';
import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';
import type { LookedThrough, SliceTiming } from '../lib/slices.ts';

const columns = tableColumns({
  /** Request id; for a count, a new id. Ids sort by time. */
  id: textColumn('id'),
  atMs: instantColumn('at'),
  /** 1 for a recorded refusal; otherwise the number of refusals of an account and code in a minute. */
  count: countColumn('count'),
  /** Account of the key; `null`: the key is unknown. */
  accountId: orNull(textColumn('account_id')),
  keyId: orNull(textColumn('key_id')),
  clientRequestId: orNull(textColumn('client_request_id')),
  clientAddress: orNull(textColumn('client_address')),
  method: orNull(textColumn('method')),
  /** Pattern of the path; `null`: there is no such address. */
  path: orNull(textColumn('path')),
  operation: orNull(textColumn('operation')),
  /** Name of the model, shortened, but otherwise as the client sent it. */
  model: orNull(textColumn('model')),
  status: orNull(countColumn('status')),
  code: textColumn('code'),
  message: orNull(textColumn('message')),
  param: orNull(textColumn('param')),
});

export type Refusal = RowOf<typeof columns>;

/** Inserts refusals. It can be repeated if its result is lost. */
const insertRefusals: Statement = {
  name: 'refusals.insert',
  text: `insert into refusals (${columns.list}) select * from ${columns.rows.as('v')} on conflict do nothing`,
};

const IS_OWN = 'and ($3::text is null or r.account_id = $3) and ($4::text[] is null or r.key_id = any ($4::text[]))';

/** Finds refusals by request id. Uses the primary key and refusals_by_client_request. */
const findRefusals: Statement = {
  name: 'refusals.find',
  text: `select ${columns.of('r')} from refusals r where r.id = $1 ${IS_OWN}
union all
select ${columns.of('r')} from refusals r where r.client_request_id = $1 and r.id <> $1 ${IS_OWN}
order by id desc limit $2::int`,
};

/** Deletes old rows. Uses the primary key, which starts with the oldest ones. */
const deleteOld: Statement = {
  name: 'refusals.delete-old',
  text: `delete from refusals where id in (
  select id from (select id, at from refusals order by id limit ${DELETED_ROWS_MAX} for update skip locked) oldest
  where at < $1::timestamptz
)
returning 1 as gone`,
};

/** Which refusals a list contains. Members that are absent or `null` do not restrict it. */
interface RefusalFilter {
  readonly accountId?: string | null | undefined;
  readonly keyId?: string | null | undefined;
  /** Keys of a user, which belong to the account in `accountId`. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly code?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

export type RefusalsStore = ReturnType<typeof createRefusalsStore>;

export function createRefusalsStore(database: DirectoryPool) {
  /** Uses refusals_by_key, …_account and …_code. */
  const list = createFilteredList(database, {
    table: 'refusals',
    columns,
    idPrefix: 'req',
    at: 'at',
    leads: ['key_id', 'account_id', 'code'],
    others: ['model'],
    anyOf: 'key_id',
  });
  return {
    async insert(refusals: readonly Refusal[]): Promise<void> {
      await database.query(insertRefusals, [columns.rows.parameter(refusals)]);
    },
    /** Lists refusals, newest first. At the time limit, returns those found so far and a cursor. */
    list(
      { accountId = null, keyId = null, ownKeyIds = null, code = null, model = null, from, to }: RefusalFilter,
      beforeId: string | null,
      limit: number,
      timing: SliceTiming,
    ): Promise<LookedThrough<Refusal>> {
      const anyOf = keyId === null ? ownKeyIds : (ownKeyIds?.filter((id) => id === keyId) ?? null);
      // The keys belong to the account, so a condition for the account is not necessary.
      const of = anyOf === null ? { key_id: keyId, account_id: accountId } : { key_id: null, account_id: null };
      return list({ values: { ...of, code, model }, anyOf, from, to }, beforeId, limit, timing);
    },
    async find(requestId: string, limit: number, { accountId, keyIds }: OwnedBy = EVERYBODY): Promise<Refusal[]> {
      const of = [accountId, keyIds === null ? null : toArray(keyIds)];
      return columns.all(await database.query(findRefusals, [requestId, limit, ...of]));
    },
    deleteBefore: (instantMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteOld, toTimestamp(instantMs), signal),
  };
}
