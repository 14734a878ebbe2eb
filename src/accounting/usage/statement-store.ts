import type { Statement } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { bigintColumn, type Column, intColumn, type RowOf, selection, textColumn } from '../../db/table.ts';
import { ENTRIES, type LedgerEntry, type LedgerKind } from '../ledger/ledger-store.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';

/** This file sums the ledger entries of a period, for account statements. */

const sumColumn = (sql: string): Column<bigint> => ({
  ...bigintColumn(sql),
  read: (stored) => BigInt(stored as string),
});

/** Selected as text, because a sum can exceed the range of a balance. */
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

/** Sums from one snapshot: the opening balance plus the sums is the closing balance. */
interface LedgerSums {
  readonly openingNano: bigint;
  readonly closingNano: bigint;
  /** Number of the last entry before the end of the period. */
  readonly lastEntryNo: bigint;
  /** Sums by kind of entry, without kinds that have no entries in the period. */
  readonly kinds: readonly Pick<RowOf<typeof SUMS>, 'kind' | 'entries' | 'amountNano'>[];
}

const selectAccount: Statement = {
  name: 'statement.select-account',
  text: 'select account_id from balances where account_id = $1::text',
};

/** A period is not a range of entry numbers, because entries from a journal are inserted after newer ones. Uses the primary key. */
const sumEntries: Statement = {
  name: 'statement.sum-entries',
  text: `select ${SUMS.list}
from ledger_entries where account_id = $1::text and created_at < $3::timestamptz
group by kind order by kind`,
};

/** Selects entries other than charges. Uses the index ledger_entries_beside_charges. */
const listOtherEntries: Statement = {
  name: 'statement.list-beside-charges',
  text: `select ${ENTRIES.list} from ledger_entries
where account_id = $1::text and kind <> 'charge' and created_at >= $2::timestamptz and created_at < $3::timestamptz
  and entry_no <= $4::bigint
order by created_at, entry_no limit $5::int`,
};

export type StatementStore = ReturnType<typeof createStatementStore>;

export function createStatementStore(database: PartitionPool) {
  return {
    /** Sums the entries of a period; `null` if the account does not exist. */
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
    /** Returns the entries of a period, oldest first, without charges and without entries after `lastEntryNo`. */
    listOtherEntries: async (
      accountId: string,
      from: Date,
      to: Date,
      lastEntryNo: bigint,
      limit: number,
    ): Promise<LedgerEntry[]> =>
      ENTRIES.all(await database.query(listOtherEntries, [accountId, from, to, lastEntryNo, limit])),
  };
}

export const routedStatements = (routes: Routes<StatementStore>): StatementStore =>
  routedByAccount(routes, { sum: itself, listOtherEntries: itself });
