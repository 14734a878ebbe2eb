import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { type DroppedCharges, DroppedCheck } from './audit-dropped.ts';
import type { AccountRange } from './audit-slices-store.ts';

/** The SQL of what was written down of call records that were dropped (`accounting/retention/`). */

type WrittenRow = Readonly<Record<'account_id' | 'month' | 'charges' | 'charge_nano', string>>;

/** Plan: primary key, along the index. */
const readWrittenDown: Statement = {
  name: 'audit.read-written-down',
  text: `select d.account_id, d.month::text as month, sum(d.charged_calls)::text as charges, sum(d.charge_nano)::text as charge_nano
from dropped_calls d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
where d.account_id > $1::text and d.account_id <= $2::text
group by d.account_id, d.month`,
};

/** As many rows as there are months. */
const countDrops: Statement = {
  name: 'audit.count-drops',
  text: 'select coalesce(sum(drops), 0)::text as drops from dropped_months',
};

/** How many times records were dropped so far. An audit of a range is of one such number: what it has read before does not count any more. */
export async function readDrops(reader: PartitionQueryable): Promise<string> {
  const [row] = await reader.query<{ drops: string }>(countDrops);
  return row!.drops;
}

/** What the records of a range said that were dropped. */
export async function readDroppedCheck(
  reader: PartitionQueryable,
  { behind, upTo }: AccountRange,
): Promise<DroppedCheck> {
  const rows = await reader.query<WrittenRow>(readWrittenDown, [behind, upTo]);
  return new DroppedCheck(rows.map((row): DroppedCharges => [row.account_id, row.month, row.charges, row.charge_nano]));
}
