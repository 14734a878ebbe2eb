import { KEY_LIMITS } from '../accounting/accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../accounting/pricing/running-periods.ts';
import { type AccountState, rateName } from '../accounting/reservations/account-state.ts';
import {
  addKeys,
  addRates,
  addSubscriptions,
  type MoneyRow,
  toAccounts,
} from '../accounting/reservations/account-store.ts';
import { freeReservation, NO_USE } from '../accounting/reservations/release.ts';
import type { OpenReservation } from '../accounting/reservations/reservation.ts';
import { BALANCES, HAS_SLOT, RATE_LIMITS, RESERVATIONS, SUBSCRIPTIONS } from '../accounting/reservations/tables.ts';
import type { SqlValue, Statement, StoredRow } from '../db/database.ts';
import type { DirectorySnapshots, PartitionSnapshots } from '../db/home-lanes.ts';
import type { TableColumns } from '../db/table.ts';

/**
 * The SQL of the first read of a batch of accounts in their partition: everything that calls in flight change. Accounts are exported with
 * these calls released.
 */

/** Accounts by their ids, from the first one to the last. */
export interface BatchRange {
  readonly first: string;
  readonly last: string;
}

/** An account with its calls in flight released. */
export interface CutAccount {
  readonly id: string;
  readonly balanceNano: bigint;
  readonly accountRow: string;
  readonly balanceRow: string;
  readonly keyLimitRows: readonly { readonly keyId: string; readonly row: string }[];
  /** `keyId`: empty for those of the account. */
  readonly rateLimitRows: readonly { readonly keyId: string; readonly row: string }[];
  readonly noticeStateRows: readonly string[];
  /** Calls in flight, whose slots are not exported. */
  readonly releasedSlots: ReadonlySet<string>;
  /** `slotsOf`: how many slots of each subscription are exported. */
  subscriptionRows(slotsOf: ReadonlyMap<string, number>): readonly string[];
}

/** The row of an account, and the number of its partition. */
interface AccountRow {
  readonly id: string;
  readonly partition: number;
  readonly row: string;
}

/** The transactions from this one on are later. */
const readTransaction: Statement = {
  name: 'export.read-cut',
  text: `select (pg_snapshot_xmax(pg_current_snapshot())::text::numeric % 4294967296)::text as cut`,
};

/** SQL: the rows of the accounts of a batch, which are $1 and $2. */
const inBatch = (column: string): string => `${column} >= $1::text and ${column} <= $2::text`;

/** Which partition it is in is of this database alone. Plan: primary key, as the next ones. */
const readAccountRows: Statement = {
  name: 'export.read-accounts',
  text: `select a.id, a.partition_no::int as partition, (to_jsonb(a) - 'partition_no')::text as row from accounts a where ${inBatch('a.id')} order by a.id`,
};

/** Columns that calls in flight change come as they are after their release; the rest is the database's own JSON. */
function withCounts(
  name: string,
  table: string,
  columns: { of(alias: string): string },
  counted: readonly string[],
): Statement {
  const names = counted.map((column) => `'${column}'`).join(', ');
  return {
    name,
    text: `select ${columns.of('t')}, (to_jsonb(t) - array[${names}])::text as row from ${table} t where ${inBatch('t.account_id')}`,
  };
}

const readBalances = withCounts('export.read-balances', 'balances', BALANCES.columns, BALANCES.written.names);
const readKeyLimits = withCounts('export.read-key-limits', 'key_limits', KEY_LIMITS.columns, KEY_LIMITS.written.names);
const readRateLimits = withCounts(
  'export.read-rate-limits',
  'rate_limits',
  RATE_LIMITS.columns,
  RATE_LIMITS.written.names,
);
const readSubscriptions = withCounts(
  'export.read-subscriptions',
  'subscriptions',
  SUBSCRIPTIONS.columns,
  SUBSCRIPTIONS.written.names,
);

const readReservations: Statement = {
  name: 'export.read-reservations',
  text: `select ${RESERVATIONS.of('r')}, ${HAS_SLOT} from reservations r where ${inBatch('r.account_id')}`,
};

/** Few of each account; what was said once is said no more. */
const readNoticeStates: Statement = {
  name: 'export.read-notice-states',
  text: `select t.account_id, to_jsonb(t)::text as row from notice_states t where ${inBatch('t.account_id')} order by t.account_id, t.subject`,
};

type JsonRow = StoredRow & { readonly row: string };
type OfAccounts<Row> = ReadonlyMap<string, readonly Row[]>;

const FIRST_READ = [
  readBalances,
  readKeyLimits,
  readRateLimits,
  readSubscriptions,
  readReservations,
  readNoticeStates,
] as const;

const NONE: readonly never[] = [];

/** The first transaction that is later than the state of a reader. */
export async function readCutTransaction(reader: DirectorySnapshots): Promise<string> {
  const [rows] = await reader.read([{ statement: readTransaction, parameters: NONE }]);
  return (rows as { cut: string }[])[0]!.cut;
}

/** The accounts of a batch as the directory has them, in the order of their ids. */
export async function readAccounts(
  directory: DirectorySnapshots,
  { first, last }: BatchRange,
): Promise<readonly AccountRow[]> {
  const [rows] = await directory.read([{ statement: readAccountRows, parameters: [first, last] }]);
  return rows as AccountRow[];
}

/**
 * Accounts of a partition by their ids, of which those are left out that have no balance there. Their rows were read before: each that is
 * whole has its balance by then.
 */
export async function readCut(
  partition: PartitionSnapshots,
  { first, last }: BatchRange,
  accountRows: readonly AccountRow[],
): Promise<ReadonlyMap<string, CutAccount>> {
  const parameters = [first, last];
  const found = (await partition.read(FIRST_READ.map((statement) => ({ statement, parameters })))) as JsonRow[][];
  const [balances, keys, rates, subscriptions, reservations, noticeStates] = found;
  const states = toAccounts(() => balances as (MoneyRow & JsonRow)[], []);
  addKeys(states, keys!);
  addRates(states, rates!);
  addSubscriptions(states, subscriptions!);
  const [balanceOf, keysOf, ratesOf, subscriptionsOf, reservationsOf, noticesOf] = [
    byAccount(balances!),
    byAccount(keys!),
    byAccount(rates!),
    byAccount(subscriptions!),
    byAccount(reservations!),
    byAccount(noticeStates!),
  ];
  const accounts = new Map<string, CutAccount>();
  for (const { id, row } of accountRows) {
    const state = states.get(id);
    if (state === undefined) continue;
    release(state, (reservationsOf.get(id) ?? []) as (JsonRow & { has_slot: boolean })[]);
    accounts.set(id, toCutAccount(state, row, balanceOf.get(id)![0]!, { keysOf, ratesOf, subscriptionsOf, noticesOf }));
  }
  return accounts;
}

function toCutAccount(
  state: AccountState,
  accountRow: string,
  balanceRow: JsonRow,
  {
    keysOf,
    ratesOf,
    subscriptionsOf,
    noticesOf,
  }: Readonly<Record<'keysOf' | 'ratesOf' | 'subscriptionsOf' | 'noticesOf', OfAccounts<JsonRow>>>,
): CutAccount {
  const { accountId: id, money } = state;
  const of = (rows: OfAccounts<JsonRow>): readonly JsonRow[] => rows.get(id) ?? [];
  return {
    id,
    balanceNano: money.balanceNano,
    accountRow,
    balanceRow: withCounted(balanceRow, BALANCES.written, money),
    keyLimitRows: of(keysOf).map((row) => {
      const keyId = String(row.key_id);
      return { keyId, row: withCounted(row, KEY_LIMITS.written, state.keys.get(keyId)!) };
    }),
    rateLimitRows: of(ratesOf).map((row) => ({
      keyId: String(row.key_id),
      row: withCounted(row, RATE_LIMITS.written, state.rates.get(rateName(RATE_LIMITS.columns.read(row)))!),
    })),
    noticeStateRows: of(noticesOf).map(({ row }) => row),
    releasedSlots: new Set([...state.subscriptions.values()].flatMap(({ deletedSlots }) => deletedSlots)),
    subscriptionRows: (slotsOf) =>
      of(subscriptionsOf).map((row) => {
        const subscription = state.subscriptions.get(String(row.id))!;
        return withCounted(row, SUBSCRIPTIONS.written, { ...subscription, slots: slotsOf.get(subscription.id) ?? 0 });
      }),
  };
}

const byAccount = (rows: readonly JsonRow[]): OfAccounts<JsonRow> =>
  Map.groupBy(rows, ({ account_id: accountId }) => accountId as string);

/** The row with what is counted as a decision has left it. */
function withCounted<Row extends object>({ row }: JsonRow, columns: TableColumns<Row>, state: Row): string {
  const counted = columns.names.map((name, i) => `,"${name}":${toJson(columns.values[i]!(state))}`);
  return `${row.slice(0, -1)}${counted.join('')}}`;
}

function toJson(value: SqlValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** At any instant and in periods without a beginning, so that none begins because of it: what a key used of its day stays as it is. */
const NO_PERIODS: RunningPeriods = {
  today: '',
  nowMs: Number.POSITIVE_INFINITY,
  dayBeganAtMs: Number.NEGATIVE_INFINITY,
  weekBeganAtMs: Number.NEGATIVE_INFINITY,
  monthBeganAtMs: Number.NEGATIVE_INFINITY,
  nextDayMs: Number.POSITIVE_INFINITY,
  nextWeekMs: Number.POSITIVE_INFINITY,
  nextMonthMs: Number.POSITIVE_INFINITY,
};

/** Gives everything back that calls in flight have taken, as if they had never been admitted. */
function release(account: AccountState, rows: readonly (StoredRow & { has_slot: boolean })[]): void {
  for (const row of rows) {
    const reservation: OpenReservation = { ...RESERVATIONS.read(row), hasSlot: row.has_slot };
    freeReservation(reservation, NO_USE, account, NO_PERIODS);
  }
}
