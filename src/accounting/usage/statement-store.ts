import type { Lane, Statement } from '../../db/database.ts';
import type { LedgerKind } from '../ledger/ledger-store.ts';

/** The SQL of statements of account: what the ledger says of a time, by the instants of its entries. */

/** The entries of one kind. */
interface KindSum {
  readonly kind: LedgerKind;
  readonly entries: number;
  readonly amountNano: bigint;
}

/** An entry that is no charge. */
export interface StatementEntry {
  readonly entryNo: bigint;
  readonly kind: LedgerKind;
  readonly amountNano: bigint;
  readonly callId: string | null;
  readonly memo: string | null;
  readonly createdAt: Date;
}

/** Opening balance and sums together are the closing balance: all are of one state of the ledger. */
export interface LedgerSums {
  readonly openingNano: bigint;
  readonly closingNano: bigint;
  /** The last entry of that state before the end of the time. */
  readonly lastEntryNo: bigint;
  /** Kinds with entries in the time. */
  readonly kinds: readonly KindSum[];
}

export interface StatementStore {
  /** `null` if there is no such account. */
  sum(accountId: string, from: Date, to: Date): Promise<LedgerSums | null>;
  /** Entries up to a number that are no charges, oldest first. */
  listBesideCharges(
    accountId: string,
    from: Date,
    to: Date,
    lastEntryNo: bigint,
    limit: number,
  ): Promise<StatementEntry[]>;
}

const selectAccount: Statement = {
  name: 'statement.select-account',
  text: 'select account_id from balances where account_id = $1::text',
};

/**
 * Entries are numbered in the order in which they were stored, and one of the journal is stored later than others that are newer.
 * So all entries of the account are read. Sums of one kind may be beyond what a balance may, so they are text. Plan: primary key.
 */
const sumEntries: Statement = {
  name: 'statement.sum-entries',
  text: `select kind, (count(*) filter (where created_at >= $2::timestamptz))::int as entries,
  coalesce(sum(amount_nano) filter (where created_at < $2::timestamptz), 0)::text as before_nano,
  coalesce(sum(amount_nano) filter (where created_at >= $2::timestamptz), 0)::text as amount_nano,
  max(entry_no) as last_entry_no
from ledger_entries where account_id = $1::text and created_at < $3::timestamptz
group by kind order by kind`,
};

/** Plan: ledger_entries_beside_charges. */
const listBesideCharges: Statement = {
  name: 'statement.list-beside-charges',
  text: `select entry_no, kind, amount_nano, call_id, memo, created_at from ledger_entries
where account_id = $1::text and kind <> 'charge' and created_at >= $2::timestamptz and created_at < $3::timestamptz
  and entry_no <= $4::bigint
order by created_at, entry_no limit $5::int`,
};

interface SumRow {
  kind: LedgerKind;
  entries: number;
  before_nano: string;
  amount_nano: string;
  last_entry_no: bigint;
}

interface EntryRow {
  entry_no: bigint;
  kind: LedgerKind;
  amount_nano: bigint;
  call_id: string | null;
  memo: string | null;
  created_at: Date;
}

export function createStatementStore(database: Lane): StatementStore {
  return {
    async sum(accountId, from, to) {
      const [account] = await database.query(selectAccount, [accountId]);
      if (account === undefined) return null;
      const rows = await database.query<SumRow>(sumEntries, [accountId, from, to]);
      const openingNano = rows.reduce((sum, row) => sum + BigInt(row.before_nano), 0n);
      return {
        openingNano,
        closingNano: rows.reduce((sum, row) => sum + BigInt(row.amount_nano), openingNano),
        lastEntryNo: rows.reduce((last, row) => (row.last_entry_no > last ? row.last_entry_no : last), 0n),
        kinds: rows
          .filter(({ entries }) => entries > 0)
          .map(({ kind, entries, amount_nano }) => ({ kind, entries, amountNano: BigInt(amount_nano) })),
      };
    },
    async listBesideCharges(accountId, from, to, lastEntryNo, limit) {
      const rows = await database.query<EntryRow>(listBesideCharges, [accountId, from, to, lastEntryNo, limit]);
      return rows.map((row) => ({
        entryNo: row.entry_no,
        kind: row.kind,
        amountNano: row.amount_nano,
        callId: row.call_id,
        memo: row.memo,
        createdAt: row.created_at,
      }));
    },
  };
}
