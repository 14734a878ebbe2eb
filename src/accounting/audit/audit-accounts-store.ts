import { type Statement, toArray } from '../../db/database.ts';
import type { HomeTables } from '../../db/home-lanes.ts';
import type { FoundBreach } from './audit-slices-store.ts';

/**
 * The SQL that compares accounts with their balances, which have another home. A balance is made before its account is there, and behind
 * what says that the account is under way; nothing of the three is deleted but the latter, with the row of the account. So whatever one
 * statement has found on its side is found on the other by a later one.
 */

/** Plan: primary key, index only, as the next one. */
const sliceAccounts: Statement = {
  name: 'audit.slice-accounts',
  text: 'select id from accounts where id > $1::text order by id limit $2::int',
};

const sliceBalances: Statement = {
  name: 'audit.slice-balances',
  text: 'select account_id as id from balances where account_id > $1::text order by account_id limit $2::int',
};

/** Plan: primary key. */
const findWithoutBalance: Statement = {
  name: 'audit.find-without-balance',
  text: `select 'account-balances' as invariant, v.id as account_id, 'no balance' as detail
from unnest($1::text[]) as v (id) where not exists (select from balances b where b.account_id = v.id)`,
};

/** Plan: primary keys. */
const findWithoutAccount: Statement = {
  name: 'audit.find-without-account',
  text: `select 'account-balances' as invariant, v.id as account_id, 'no account' as detail
from unnest($1::text[]) as v (id)
where not exists (select from accounts a where a.id = v.id) and not exists (select from new_accounts n where n.id = v.id)`,
};

/** SQL: whether something is under way for longer than nodes and repeats of requests take to finish it. */
export const isLate = (since: string): string => `${since} < clock_timestamp() - interval '15 minutes'`;

const findLate: Statement = {
  name: 'audit.find-late-accounts',
  text: `select 'under-way' as invariant, id as account_id, 'account, since ' || under_way_since as detail
from new_accounts where ${isLate('under_way_since')} order by id limit 100`,
};

/** What each slice found, of all accounts. */
export async function* auditBalances(
  { directory, partition }: HomeTables,
  rowsMax: number,
): AsyncGenerator<readonly FoundBreach[]> {
  const sides = [
    { here: directory, slice: sliceAccounts, there: partition, find: findWithoutBalance },
    { here: partition, slice: sliceBalances, there: directory, find: findWithoutAccount },
  ];
  for (const { here, slice, there, find } of sides) {
    for (let behind = '', isMore = true; isMore; ) {
      const ids = (await here.query<{ id: string }>(slice, [behind, rowsMax])).map(({ id }) => id);
      if (ids.length > 0) yield await there.query<FoundBreach>(find, [toArray(ids)]);
      behind = ids.at(-1) ?? behind;
      isMore = ids.length === rowsMax;
    }
  }
  yield await directory.query<FoundBreach>(findLate);
}
