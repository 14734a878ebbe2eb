import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionedQueryables } from '../../db/home-lanes.ts';
import { partAt } from '../partitions/routes.ts';
import type { FoundBreach, FoundIn } from './audit-findings.ts';

/**
 * The SQL that compares accounts with their balances, which have another home. Both are made by one transaction, and neither is ever
 * deleted. So whatever one statement has found on its side is found on the other by a later one.
 */

/** Plan: primary key, as the next one. */
const sliceAccounts: Statement = {
  name: 'audit.slice-accounts',
  text: 'select id, partition_no::int as partition from accounts where id > $1::text order by id limit $2::int',
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

/** Of balances in the partition $2. Plan: primary keys. */
const findWithoutAccount: Statement = {
  name: 'audit.find-without-account',
  text: `select 'account-balances' as invariant, v.id as account_id, coalesce(
  'the account is in partition ' || (select a.partition_no from accounts a where a.id = v.id), 'no account') as detail
from unnest($1::text[]) as v (id)
where not exists (select from accounts a where a.id = v.id and a.partition_no = $2::int)`,
};

/** What each slice found, of all accounts: each has its balance in its partition, and no other one. */
export async function* auditBalances(
  { directory, partitions }: PartitionedQueryables,
  rowsMax: number,
): AsyncGenerator<FoundIn> {
  for (let behind = '', isMore = true; isMore; ) {
    const accounts = await directory.query<{ id: string; partition: number }>(sliceAccounts, [behind, rowsMax]);
    for (const [partition, those] of Map.groupBy(accounts, (account) => account.partition)) {
      const ids = toArray(those.map(({ id }) => id));
      yield { partition, breaches: await partAt(partitions, partition).query<FoundBreach>(findWithoutBalance, [ids]) };
    }
    behind = accounts.at(-1)?.id ?? behind;
    isMore = accounts.length === rowsMax;
  }
  for (const [partition, tables] of partitions.entries()) {
    for (let behind = '', isMore = true; isMore; ) {
      const ids = (await tables.query<{ id: string }>(sliceBalances, [behind, rowsMax])).map(({ id }) => id);
      isMore = ids.length === rowsMax;
      if (ids.length > 0) {
        const found = await directory.query<FoundBreach>(findWithoutAccount, [toArray(ids), partition]);
        yield { partition, breaches: found };
      }
      behind = ids.at(-1) ?? behind;
    }
  }
}
