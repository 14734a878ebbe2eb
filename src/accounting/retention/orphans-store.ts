import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { intColumn, selection, textColumn } from '../../db/table.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { DisagreementError } from './disagreement.ts';
import { isDropped } from './dropped-sums-store.ts';
import { boundsOf, type Month } from './months.ts';

/** The SQL that looks for charges without a record, before the records of their month go. */

const ORPHANS = selection({
  accountId: textColumn('account_id'),
  charges: intColumn('charges'),
  /** As text, because it may be more than a charge may. */
  amountNano: textColumn('amount_nano'),
});

/** Accounts of a slice. */
const ACCOUNTS_MAX = 200;

/**
 * Charges of calls whose ids are from $3 to $4 and that have no record which started from $5 to $6: of accounts from $1 on, behind call
 * $2 of that one, unless it is null; $7 charges at most. The last row has no account, and where the next slice begins. Plans: primary
 * keys, ledger_one_charge_a_call, row by row.
 */
const sliceOrphans: Statement = {
  name: 'retention.slice-orphans',
  text: `with owners as materialized (
  select account_id from balances where account_id >= $1::text order by account_id limit ${ACCOUNTS_MAX}
),
part as materialized (
  select a.account_id, e.call_id, e.amount_nano
  from owners a
  cross join lateral (
    select e.call_id, e.amount_nano from ledger_entries e
    where e.account_id = a.account_id and e.kind = 'charge' and e.call_id >= $3::text and e.call_id < $4::text
      and (a.account_id > $1::text or $2::text is not null and e.call_id > $2::text)
    order by e.call_id limit $7::int
  ) e
  order by a.account_id, e.call_id limit $7::int
),
orphans as (
  select p.account_id, p.amount_nano from part p
  left join lateral (
    select true as is_there from calls c
    where c.account_id = p.account_id and c.id = p.call_id and c.started_at >= $5::timestamptz and c.started_at < $6::timestamptz
    limit 1
  ) c on true
  where c.is_there is null
)
select account_id, count(*)::int as charges, (-sum(amount_nano))::text as amount_nano, null::text as next_account, null::text as next_call
from orphans group by account_id
union all
select null, null, null,
  case when p.is_full then p.account_id when a.is_full then a.account_id end, case when p.is_full then p.call_id end
from (
  select (select count(*) from part) = $7::int as is_full, l.account_id, l.call_id
  from (values (1)) as one (row) left join (select * from part order by account_id desc, call_id desc limit 1) l on true
) p
cross join (
  select (select count(*) from owners) = ${ACCOUNTS_MAX} as is_full, (select max(account_id) from owners) as account_id
) a`,
};

/** What accounts have that was dropped, of a month of ids. Plan: primary key. */
const selectWrittenDown: Statement = {
  name: 'retention.select-written-down',
  text: `select d.account_id, sum(d.charged_calls)::int as charges, sum(d.charge_nano)::text as amount_nano
from dropped_calls d
where d.account_id = any ($1::text[]) and d.month = $2::date and ${isDropped('d')} group by d.account_id`,
};

/** `keep`: says that the run goes on; false if another one has the month. */
export function createOrphanSearch(
  database: PartitionLane,
  rowsMax: number,
  keep: (month: Month, runId: string) => Promise<boolean>,
) {
  return {
    /**
     * Makes sure that every charge of a month has its record, or is of one that was dropped before. `inTurn` runs each slice, or returns
     * false to stop.
     *
     * @throws DisagreementError
     */
    async requireRecords(
      month: Month,
      runId: string,
      inTurn: (slice: () => Promise<void>) => Promise<boolean>,
    ): Promise<'sure' | 'stopped' | 'elsewhere'> {
      const { fromMs, toMs } = boundsOf(month);
      const ids = [firstIdAt('call', fromMs), firstIdAt('call', toMs)];
      const instants = [new Date(fromMs - DAY_MS), new Date(toMs + DAY_MS)];
      const orphans = new Map<string, { charges: number; amountNano: bigint }>();
      for (let from: readonly [string, string | null] | null = ['', null]; from !== null; ) {
        const [account, call]: readonly [string, string | null] = from;
        let isOurs = true;
        const isGoingOn = await inTurn(async () => {
          isOurs = await keep(month, runId);
          if (!isOurs) return;
          const rows = await database.query<OrphanRow>(sliceOrphans, [account, call, ...ids, ...instants, rowsMax]);
          for (const row of rows) {
            if (row.account_id === null) {
              from = row.next_account === null ? null : [row.next_account, row.next_call];
              continue;
            }
            const { accountId, charges, amountNano } = ORPHANS.read(row);
            const known = orphans.get(accountId) ?? { charges: 0, amountNano: 0n };
            orphans.set(accountId, {
              charges: known.charges + charges,
              amountNano: known.amountNano + BigInt(amountNano),
            });
          }
        });
        if (!isGoingOn) return 'stopped';
        if (!isOurs) return 'elsewhere';
      }
      if (orphans.size === 0) return 'sure';
      const written = ORPHANS.all(await database.query(selectWrittenDown, [toArray([...orphans.keys()]), month]));
      for (const [accountId, { charges, amountNano }] of orphans) {
        const dropped = written.find((each) => each.accountId === accountId);
        if (dropped?.charges === charges && BigInt(dropped.amountNano) === amountNano) continue;
        throw new DisagreementError(`charges of account ${accountId} without a record`);
      }
      return 'sure';
    },
  };
}

const DAY_MS = 86_400_000;

/** The columns of `ORPHANS`, which are null in the last row. */
interface OrphanRow {
  readonly [name: string]: unknown;
  readonly account_id: string | null;
  readonly next_account: string | null;
  readonly next_call: string | null;
}
