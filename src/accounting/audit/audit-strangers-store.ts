import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';

/**
 * The SQL that finds records of accounts that are not in their partition: those of whom it has no balance. Balances are compared with the
 * directory (`audit-accounts-store.ts`), are made before everything else of an account, and stay. So between two accounts that have
 * balances there is nothing but records of strangers, and of accounts that were made since, whose balances are there when they are looked for
 * once more. Each such place is one look into an index, whatever accounts have.
 */

/** Tables of a partition by whose accounts rows are found. Queues say whose they are in lists, and have none for long. */
export const RECORDS = [
  'ledger_entries',
  'calls',
  'reservations',
  'subscriptions',
  'subscription_requests',
  'plan_periods',
  'plan_slots',
  'key_limits',
  'key_uses',
  'rate_limits',
  'stored_responses',
  'continuation_keys',
  'usage_rollups',
  'notice_states',
  'dropped_calls',
  'dropped_uses',
  'dropped_usage',
] as const;

/** The first account with rows in each of several places. Plans: primary keys, index only. */
const findBetween = (table: string): Statement => ({
  name: `audit.between-balances-${table}`,
  text: `select found.account_id, gap.before
from unnest($1::text[], $2::text[]) as gap (behind, before)
cross join lateral (
  select t.account_id from ${table} t where t.account_id > gap.behind and t.account_id < gap.before order by t.account_id limit 1
) found`,
});

/** The first account with rows behind another one. Plans: as above. */
const findBehind = (table: string): Statement => ({
  name: `audit.behind-balances-${table}`,
  text: `select t.account_id, null as before from ${table} t where t.account_id > $1::text order by t.account_id limit 1`,
});

/** Plan: primary key. */
const findStrangers: Statement = {
  name: 'audit.find-strangers',
  text: `select v.account_id from unnest($1::text[]) as v (account_id)
where not exists (select from balances b where b.account_id = v.account_id)`,
};

/** Where no balance is: behind an account, and before another one; `null`: behind all. */
interface Gap {
  readonly behind: string;
  readonly before: string | null;
}

const LOOKS = RECORDS.map((table) => ({ table, between: findBetween(table), behind: findBehind(table) }));

/** What tables have of strangers around the balances of a slice: `ids` behind one. `isLast`: and behind all of them. */
export async function findStrangersAmong(
  reader: PartitionQueryable,
  behind: string,
  ids: readonly string[],
  isLast: boolean,
): Promise<FoundBreach[]> {
  const gaps = ids.map((id, i): Gap => ({ behind: i === 0 ? behind : ids[i - 1]!, before: id }));
  const found: FoundBreach[] = [];
  for (const look of LOOKS) {
    const strangers = await strangersIn(reader, look.between, gaps);
    if (isLast) {
      const rest: Gap[] = [{ behind: ids.at(-1) ?? behind, before: null }];
      strangers.push(...(await strangersIn(reader, look.behind, rest)));
    }
    const detail = `rows of ${look.table}, no balance`;
    found.push(...strangers.map((id) => ({ invariant: 'account-records', account_id: id, detail })));
  }
  return found;
}

async function strangersIn(reader: PartitionQueryable, look: Statement, gaps: readonly Gap[]): Promise<string[]> {
  const strangers: string[] = [];
  for (let left = gaps; left.length > 0 && strangers.length < BREACHES_MAX; ) {
    const columns = fieldsOf(left, 'behind', 'before');
    const parameters = left[0]!.before === null ? [left[0]!.behind] : columns;
    const found = await reader.query<{ account_id: string; before: string | null }>(look, parameters);
    if (found.length > 0) {
      const [names] = fieldsOf(found, 'account_id');
      const unknown = await reader.query<{ account_id: string }>(findStrangers, [names!]);
      strangers.push(...unknown.map((row) => row.account_id));
    }
    // Others may be behind them.
    left = found.map((row) => ({ behind: row.account_id, before: row.before }));
  }
  return strangers;
}
