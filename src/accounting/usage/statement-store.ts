import type { Statement } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { bigintColumn, type Column, intColumn, type RowOf, selection, textColumn } from '../../db/table.ts';
import { ENTRIES, type LedgerEntry, type LedgerKind } from '../ledger/ledger-store.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';

/** The SQL of statements of account: what the ledger says of a time, by the instants of its entries. */

/** A sum as text. */
const sumColumn = (sql: string): Column<bigint> => ({
  ...bigintColumn(sql),
  read: (stored) => BigInt(stored as string),
});

/** The entries of one kind: sums may be beyond what a balance may, so they are text. */
const SUMS = selection({
  kind: textColumn<LedgerKind>('kind'),
  entries: intColumn('(count(*) filter (where created_at >= $2::timestamptz))::int as entries'),
  beforeNano: sumColumn(
    'coalesce(sum(amount_nano) filter (where created_at < $2::timestamptz), 0)::text as before_nano',
  ),
  amountNano: sumColumn(
    'coalesce(sum(amount_nano) filter (where created_at >= $2::timestamptz), 0)::text as amount_nano',
  ),
  lastEntryNo: bigintColumn('max(entry_no) as last_entry_no'),
});

/** Opening balance and sums together are the closing balance: all are of one state of the ledger. */
export interface LedgerSums {
  readonly openingNano: bigint;
  readonly closingNano: bigint;
  /** The last entry of that state before the end of the time. */
  readonly lastEntryNo: bigint;
  /** Kinds with entries in the time. */
  readonly kinds: readonly Pick<RowOf<typeof SUMS>, 'kind' | 'entries' | 'amountNano'>[];
}

const selectAccount: Statement = {
  name: 'statement.select-account',
  text: 'select account_id from balances where account_id = $1::text',
};

/**
 * Entries are numbered in the order in which they were stored, and one of the journal is stored later than others that are newer.
 * So all entries of the account are read. Plan: primary key.
 */
const sumEntries: Statement = {
  name: 'statement.sum-entries',
  text: `select ${SUMS.list}
from ledger_entries where account_id = $1::text and created_at < $3::timestamptz
group by kind order by kind`,
};

/** Plan: ledger_entries_beside_charges. */
const listBesideCharges: Statement = {
  name: 'statement.list-beside-charges',
  text: `select ${ENTRIES.list} from ledger_entries
where account_id = $1::text and kind <> 'charge' and created_at >= $2::timestamptz and created_at < $3::timestamptz
  and entry_no <= $4::bigint
order by created_at, entry_no limit $5::int`,
};

export type StatementStore = ReturnType<typeof createStatementStore>;

export function createStatementStore(database: PartitionLane) {
  return {
    /** `null` if there is no such account. */
    async sum(accountId: string, from: Date, to: Date): Promise<LedgerSums | null> {
      const [account] = await database.query(selectAccount, [accountId]);
      if (account === undefined) return null;
      const sums = SUMS.all(await database.query(sumEntries, [accountId, from, to]));
      const openingNano = sums.reduce((sum, { beforeNano }) => sum + beforeNano, 0n);
      return {
        openingNano,
        closingNano: sums.reduce((sum, { amountNano }) => sum + amountNano, openingNano),
        lastEntryNo: sums.reduce((last, { lastEntryNo }) => (lastEntryNo > last ? lastEntryNo : last), 0n),
        kinds: sums
          .filter(({ entries }) => entries > 0)
          .map(({ kind, entries, amountNano }) => ({ kind, entries, amountNano })),
      };
    },
    /** Entries up to a number that are no charges, oldest first. */
    listBesideCharges: async (
      accountId: string,
      from: Date,
      to: Date,
      lastEntryNo: bigint,
      limit: number,
    ): Promise<LedgerEntry[]> =>
      ENTRIES.all(await database.query(listBesideCharges, [accountId, from, to, lastEntryNo, limit])),
  };
}

/** Of all partitions. */
export const routedStatements = (routes: Routes<StatementStore>): StatementStore =>
  routedByAccount(routes, { sum: itself, listBesideCharges: itself });
