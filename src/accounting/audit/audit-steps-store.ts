import type { Statement } from '../../db/database.ts';
import type { PartitionedQueryables } from '../../db/home-lanes.ts';
import type { Home } from '../../db/homes.ts';
import { BREACHES_MAX, type FoundBreach, type FoundIn } from './audit-findings.ts';

/** The SQL that finds steps of two homes that nothing has finished, although each is tried again within two hours while a gateway runs. */

const FINISHED_WITHIN = `interval '6 hours'`;

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
