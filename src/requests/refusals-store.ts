import { EVERYBODY, type OwnedBy } from '../accounting/calls/calls-store.ts';
import { columnsOf, toTimestamp } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../db/table.ts';

/** The SQL of refusals. */

const columns = tableColumns({
  /** The request id; of a count an id of its own. Ids sort by time. */
  id: textColumn('id'),
  atMs: instantColumn('at'),
  /** 1, or how many refusals of that minute, account and code were not recorded one by one. */
  count: countColumn('count'),
  /** `null` if it is not known whose key it was. */
  accountId: orNull(textColumn('account_id')),
  keyId: orNull(textColumn('key_id')),
  clientRequestId: orNull(textColumn('client_request_id')),
  clientAddress: orNull(textColumn('client_address')),
  method: orNull(textColumn('method')),
  /** The pattern of the address; `null` if nothing is there. */
  path: orNull(textColumn('path')),
  operation: orNull(textColumn('operation')),
  /** As the client wrote it, shortened. */
  model: orNull(textColumn('model')),
  status: orNull(countColumn('status')),
  code: textColumn('code'),
  message: orNull(textColumn('message')),
  param: orNull(textColumn('param')),
});

/** The record of a request that was refused, or the count of those of a minute that have no record each. */
export type Refusal = RowOf<typeof columns>;

/** A repeat after a lost result inserts nothing twice. */
const insertRefusals: Statement = {
  name: 'refusals.insert',
  text: `insert into refusals (${columns.list}) select * from ${columns.unnest} on conflict do nothing`,
};

/** Newest first: with an account by refusals_by_account, with a code alone by refusals_by_code, else by primary key. */
function listRefusals(filtered: 'account' | 'code' | 'all'): Statement {
  const conditions = [
    filtered === 'account' ? 'r.account_id = $1' : '$1::text is null',
    filtered === 'code' ? 'r.code = $2' : '($2::text is null or r.code = $2)',
    '($3::timestamptz is null or r.at >= $3) and ($4::timestamptz is null or r.at < $4)',
    '($5::text is null or r.id < $5)',
  ];
  return {
    name: `refusals.list-${filtered}`,
    text: `select ${columns.of('r')} from refusals r where ${conditions.join(' and ')} order by r.id desc limit $6::int`,
  };
}
/** Of some keys of an account: the newest of each are read. Plan: refusals_by_key. */
const listOfKeys: Statement = {
  name: 'refusals.list-of-keys',
  text: `select ${columns.of('r')} from unnest($7::text[]) as own (key_id)
cross join lateral (
  select * from refusals
  where refusals.key_id = own.key_id and refusals.account_id = $1 and ($2::text is null or code = $2)
    and ($3::timestamptz is null or at >= $3) and ($4::timestamptz is null or at < $4) and ($5::text is null or id < $5)
  order by id desc limit $6::int
) r
order by r.id desc limit $6::int`,
};
const lists = { account: listRefusals('account'), code: listRefusals('code'), all: listRefusals('all') };

const IS_OWN = 'and ($3::text is null or r.account_id = $3) and ($4::text[] is null or r.key_id = any ($4::text[]))';

/** By primary key, or by refusals_by_client_request. */
const findRefusals: Statement = {
  name: 'refusals.find',
  text: `select ${columns.of('r')} from refusals r where r.id = $1 ${IS_OWN}
union all
select ${columns.of('r')} from refusals r where r.client_request_id = $1 and r.id <> $1 ${IS_OWN}
order by id desc limit $2::int`,
};

const FORGOTTEN_ROWS_MAX = 1000;

/** The oldest come first in the primary key, because ids sort by time: a deletion reads no more than it deletes. */
const deleteOld: Statement = {
  name: 'refusals.delete-old',
  text: `delete from refusals where id in (
  select id from (select id, at from refusals order by id limit ${FORGOTTEN_ROWS_MAX} for update skip locked) oldest
  where at < $1::timestamptz
)
returning 1 as gone`,
};

interface RefusalFilter {
  readonly accountId: string | null;
  /** Refusals of these keys alone, which are of the account that is named. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly code: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

export interface RefusalsStore {
  insert(refusals: readonly Refusal[]): Promise<void>;
  list(filter: RefusalFilter, beforeId: string | null, limit: number): Promise<Refusal[]>;
  /** Those of a request: by the gateway's id or the client's. */
  find(requestId: string, limit: number, of?: OwnedBy): Promise<Refusal[]>;
  /** In batches, until none is left or the signal has aborted. */
  deleteBefore(instantMs: number, signal: AbortSignal): Promise<void>;
}

export function createRefusalsStore(database: DirectoryLane): RefusalsStore {
  return {
    async insert(refusals) {
      await database.query(insertRefusals, columnsOf(refusals, ...columns.values));
    },
    async list({ accountId, ownKeyIds = null, code, from, to }, beforeId, limit) {
      if (ownKeyIds !== null) {
        const values = [accountId, code, from, to, beforeId, limit, toArray(ownKeyIds)];
        return columns.all(await database.query(listOfKeys, values));
      }
      const statement = accountId !== null ? lists.account : code !== null ? lists.code : lists.all;
      return columns.all(await database.query(statement, [accountId, code, from, to, beforeId, limit]));
    },
    async find(requestId, limit, { accountId, keyIds } = EVERYBODY) {
      const of = [accountId, keyIds === null ? null : toArray(keyIds)];
      return columns.all(await database.query(findRefusals, [requestId, limit, ...of]));
    },
    async deleteBefore(instantMs, signal) {
      let rows: unknown[];
      do rows = await database.query(deleteOld, [toTimestamp(instantMs)]);
      while (rows.length === FORGOTTEN_ROWS_MAX && !signal.aborted);
    },
  };
}
