import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryQueryable, PartitionQueryable } from '../../db/home-pools.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';
import { type AccountRange, inRange } from './audit-ranges-store.ts';

/**
 * Selects accounts of the directory. An account is created together with its balance in a partition, and neither is ever deleted. So the
 * audit reads accounts before the snapshot of balances, and the accounts of unmatched balances again after it.
 */

const selectAccounts: Statement = {
  name: 'audit.select-accounts',
  text: `select id from accounts where id > $1::text and id <= $2::text and partition_no = $3::int`,
};

const findWithoutBalance: Statement = {
  name: 'audit.find-without-balance',
  text: `select 'account-balances' as invariant, v.id as account_id, 'no balance' as detail
from unnest($1::text[]) as v (id)
where not exists (select from balances b where b.account_id = v.id) limit ${BREACHES_MAX}`,
};

/** Selects balances of the range whose accounts are not among the ids in $3. */
const selectUnknown: Statement = {
  name: 'audit.select-unknown-balances',
  text: `select b.account_id as id from balances b left join unnest($3::text[]) as v (id) on v.id = b.account_id
where ${inRange('b')} and v.id is null limit ${BREACHES_MAX}`,
};

/** Uses the primary key. */
const findWithoutAccount: Statement = {
  name: 'audit.find-without-account',
  text: `select 'account-balances' as invariant, v.id as account_id, coalesce(
  'the account is in partition ' || (select a.partition_no from accounts a where a.id = v.id), 'no account') as detail
from unnest($1::text[]) as v (id)
where not exists (select from accounts a where a.id = v.id and a.partition_no = $2::int)`,
};

export async function readAccounts(
  directory: DirectoryQueryable,
  { after, upTo }: AccountRange,
  partition: number,
): Promise<string[]> {
  const rows = await directory.query<{ id: string }>(selectAccounts, [after, upTo, partition]);
  return rows.map(({ id }) => id);
}

/** Compares accounts with balances. `unknown`: accounts of balances that are not among the given ids. */
export async function compareBalances(
  partition: PartitionQueryable,
  { after, upTo }: AccountRange,
  accounts: readonly string[],
): Promise<{ readonly breaches: readonly FoundBreach[]; readonly unknown: readonly string[] }> {
  const ids = toArray(accounts);
  const breaches = await partition.query<FoundBreach>(findWithoutBalance, [ids]);
  const unknown = await partition.query<{ id: string }>(selectUnknown, [after, upTo, ids]);
  return { breaches, unknown: unknown.map(({ id }) => id) };
}

/** Returns balances whose account is missing in the directory or assigned to another partition. */
export async function findUnplaced(
  directory: DirectoryQueryable,
  balances: readonly string[],
  partition: number,
): Promise<readonly FoundBreach[]> {
  if (balances.length === 0) return [];
  return directory.query<FoundBreach>(findWithoutAccount, [toArray(balances), partition]);
}
