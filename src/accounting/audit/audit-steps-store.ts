import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { HomeQueryables, PartitionedQueryables } from '../../db/home-lanes.ts';
import type { Home } from '../../db/homes.ts';
import { isOfKey } from '../accounts/key-limit-tables.ts';
import { BREACHES_MAX, type FoundBreach, type FoundIn } from './audit-findings.ts';
import type { AccountRange } from './audit-slices-store.ts';

/**
 * The SQL that finds what steps of two homes have left: limits without their key, and steps that nothing has finished, although each is tried
 * again within two hours while a gateway runs.
 */

const FINISHED_WITHIN = `interval '6 hours'`;

/** SQL: keys of the accounts behind $1, up to $2, that a table has rows of: $5 at most, behind one ($3, $4). */
const ownersIn = (table: string, where: string): string => `(
  select distinct account_id, key_id from ${table}
  where account_id > $1::text and account_id <= $2::text and (account_id, key_id) > ($3::text, $4::text) and ${where}
  order by account_id, key_id limit $5::int
)`;

/** Plans: primary keys, along the index. Limits of people stay, also of those who have left the account. */
const sliceOwners: Statement = {
  name: 'audit.slice-limited-keys',
  text: `select distinct account_id, key_id from (
${ownersIn('key_limits', isOfKey('key_id'))}
union all
${ownersIn('rate_limits', `key_id <> ''`)}
) owners order by account_id, key_id limit $5::int`,
};

const isThere = (from: string, id: string): string =>
  `coalesce((select true from ${from} o where o.account_id = v.account_id and o.${id} = v.key_id limit 1), false)`;

/** Those that are no keys. A key and its limits come and go in one transaction. Plans: primary keys. */
const findStrange: Statement = {
  name: 'audit.find-strange-keys',
  text: `select v.account_id, v.key_id from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where not ${isThere('api_keys', 'id')}`,
};

/** Those that have limits still: the others were forgotten meanwhile. Plans: primary keys. */
const findOwnerless: Statement = {
  name: 'audit.find-ownerless-limits',
  text: `select 'key-owners' as invariant, v.account_id, 'limits of key ' || v.key_id as detail
from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where ${isThere('key_limits', 'key_id')} or ${isThere('rate_limits', 'key_id')}`,
};

interface Owner {
  account_id: string;
  key_id: string;
}

const namesOf = (owners: readonly Owner[]): string[] => fieldsOf(owners, 'account_id', 'key_id');

/** What each slice of a range found. */
export async function* auditKeyOwners(
  { directory, partition }: HomeQueryables,
  { behind, upTo }: AccountRange,
  rowsMax: number,
): AsyncGenerator<readonly FoundBreach[]> {
  for (let last = { account_id: '', key_id: '' }, isMore = true; isMore; ) {
    const owners = await partition.query<Owner>(sliceOwners, [behind, upTo, last.account_id, last.key_id, rowsMax]);
    const strange = owners.length === 0 ? [] : await directory.query<Owner>(findStrange, namesOf(owners));
    if (strange.length > 0) yield await partition.query<FoundBreach>(findOwnerless, namesOf(strange));
    last = owners.at(-1) ?? last;
    isMore = owners.length === rowsMax;
  }
}

/** Whether a gateway has run for as long, so that it could have finished them. */
const selectIsTried: Statement = {
  name: 'audit.is-tried',
  text: `select exists (
  select from nodes
  where seen_at > statement_timestamp() - interval '15 seconds' and started_at < statement_timestamp() - ${FINISHED_WITHIN}
) as is_tried`,
};

const UNFINISHED: readonly (Statement & { readonly home: Home })[] = [
  {
    // Plan: accounts_by_new_threshold.
    home: 'directory',
    name: 'audit.unfinished-thresholds',
    text: `select 'finished-steps' as invariant, id as account_id, 'its threshold of balance.low is not looked at' as detail
from accounts where low_balance_set_at < statement_timestamp() - ${FINISHED_WITHIN} order by low_balance_set_at, id limit ${BREACHES_MAX}`,
  },
  {
    // Plan: due_notices_by_time.
    home: 'partition',
    name: 'audit.unfinished-notices',
    text: `select 'finished-steps' as invariant, account_id, 'the notice ' || dedupe_key || ' is not stored' as detail
from due_notices where due_at < statement_timestamp() - ${FINISHED_WITHIN} order by due_at, dedupe_key limit ${BREACHES_MAX}`,
  },
];

/** What is under way for longer than it may, of all accounts. */
export async function auditSteps({ directory, partitions }: PartitionedQueryables): Promise<readonly FoundIn[]> {
  const found: FoundIn[] = [];
  const [row] = await directory.query<{ is_tried: boolean }>(selectIsTried);
  if (row?.is_tried !== true) return found;
  for (const statement of UNFINISHED) {
    if (statement.home === 'directory') {
      found.push({ partition: null, breaches: await directory.query<FoundBreach>(statement) });
      continue;
    }
    for (const [partition, tables] of partitions.entries())
      found.push({ partition, breaches: await tables.query<FoundBreach>(statement) });
  }
  return found;
}
