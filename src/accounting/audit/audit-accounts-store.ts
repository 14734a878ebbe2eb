import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryQueryable, PartitionQueryable } from '../../db/home-pools.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';
import { type AccountRange, inRange } from './audit-ranges-store.ts';

/**
 * The SQL that compares accounts with their balances. Accounts are in the directory, balances in a partition. One transaction creates both,
 * and neither is ever deleted. Therefore an account that was read before a snapshot has its balance in the snapshot, and a balance in a
 * snapshot has an account that can be read after it.
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

/** Returns the ids of the accounts in a range that the directory assigns to a partition. */
export async function readAccounts(
  directory: DirectoryQueryable,
  { after, upTo }: AccountRange,
  partition: number,
): Promise<string[]> {
  const rows = await directory.query<{ id: string }>(selectAccounts, [after, upTo, partition]);
  return rows.map(({ id }) => id);
}

/**
 * Compares the balances of a range with its accounts. `unknown` contains the account ids of balances that were not among the accounts read
 * before.
 */
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

/** Returns the balances whose accounts are not in the directory, or are assigned to another partition. */
export async function findUnplaced(
  directory: DirectoryQueryable,
  balances: readonly string[],
  partition: number,
): Promise<readonly FoundBreach[]> {
  if (balances.length === 0) return [];
  return directory.query<FoundBreach>(findWithoutAccount, [toArray(balances), partition]);
}
