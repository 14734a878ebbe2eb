import { isPersonId } from '../accounting/accounts/key-limit-tables.ts';
import type { Clock } from '../lib/clock.ts';
import type { BatchRows, ExportedRow, RowOf, SlicedTable } from './export-slices-store.ts';
import type { ExportedAccount, ExportStore, WholeTableName } from './export-store.ts';
import {
  type AccountEnd,
  type ExportEnd,
  type ExportHead,
  FORMAT,
  isSound,
  LineDigest,
  lineOf,
  TransferError,
} from './format.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

interface ExportParts {
  readonly store: ExportStore;
  /** The version of the schema. */
  readonly schema: number;
  readonly clock: Clock;
}

/**
 * All of a database as lines of text (`format.ts`), a slice at a time: each account as of its last ledger entry when its batch
 * is read, while calls go on. What calls in flight hold is free in the export, and their ends are in this database only.
 */
export async function* exportDatabase({ store, schema, clock }: ExportParts): AsyncGenerator<string> {
  const reader = await store.open();
  const lines = new LinesOut();
  async function* rowsOf(table: WholeTableName, lastAccountId?: string): AsyncIterable<string> {
    for await (const slice of reader.rowsOf(table, lastAccountId)) {
      for (const { row } of slice) lines.row(table, row);
      yield* lines.take();
    }
  }
  try {
    const head: ExportHead = {
      format: FORMAT,
      schema,
      ...(await reader.readIdentity()),
      exportedAt: new Date(clock.nowMs()).toISOString(),
      accounts: await reader.countAccounts(),
      tables: await reader.readColumns(),
    };
    lines.control('faregate_export', head);
    // First: one that is made whole meanwhile is in the file as both, and an import finds that there is nothing left to do.
    let lastNewId = '';
    for await (const slice of reader.rowsOf('new_accounts')) {
      for (const { row, key_0: id } of slice) {
        lines.row('new_accounts', row);
        lastNewId = id;
      }
      yield* lines.take();
    }
    const drops = await reader.readDrops();
    let lastId = '';
    for await (const range of reader.batches()) {
      for (const account of await reader.readBatch(range)) yield* linesOf(account, drops !== NONE, lines);
      yield* lines.take();
      lastId = range.last;
    }
    // Behind the accounts, because ids sort by time: so each account that is made meanwhile comes with its request, or not at all.
    yield* rowsOf('account_requests', lastId > lastNewId ? lastId : lastNewId);
    // Last, so that every list is there that a record refers to.
    for (const table of ['price_lists', 'dropped_months', 'route_drains', 'admin_tokens'] as const)
      yield* rowsOf(table);
    for await (const slice of reader.users(lastId)) {
      yield* lines.take();
      for (const { row, memberships, identities } of slice) {
        lines.row('users', row);
        for (const membership of JSON.parse(memberships) as object[])
          lines.row('memberships', JSON.stringify(membership));
        for (const identity of JSON.parse(identities) as object[])
          lines.row('user_identities', JSON.stringify(identity));
      }
    }
    yield* rowsOf('changes');
    yield* rowsOf('webhook_endpoints', lastId);
    // Vouchers are never changed, and were there before they were redeemed: all that the accounts have redeemed come here.
    yield* rowsOf('vouchers');
    // Behind them, because each batch was there before its vouchers.
    yield* rowsOf('voucher_batches');
    yield* lines.take();
    if ((await reader.readDrops()) !== drops) throw new TransferError(DROPPED);
    lines.control('end', lines.end);
    yield* lines.take();
  } finally {
    await reader.close();
  }
}

/** No records were ever dropped: nothing is read of them. */
const NONE = '0';

const DROPPED =
  'Call records whose time is over were dropped while the export was made, so it has some of them and lacks others. Export again.';

/** Yields what there is before each read of the database, so that no more than a slice of each table is in memory. */
async function* linesOf(
  { account, tables }: ExportedAccount,
  hasDropped: boolean,
  lines: LinesOut,
): AsyncIterable<string> {
  const { id } = account;
  lines.row('accounts', account.accountRow);
  lines.row('balances', account.balanceRow);
  const keyIds = new Set<string>();
  const onKey = ({ row, key_0: keyId }: RowOf<'api_keys'>): void => {
    lines.row('api_keys', row);
    keyIds.add(keyId);
  };
  while (!tables.api_keys.visit(id, onKey)) yield* nextSlice(tables.api_keys, lines);
  // A key that had ended may have been forgotten since the cut, and one that is being made may not be there yet.
  for (const { keyId, row } of account.keyLimitRows) {
    if (isPersonId(keyId) || keyIds.has(keyId)) lines.row('key_limits', row);
  }
  for (const { keyId, row } of account.rateLimitRows) {
    if (keyId === '' || keyIds.has(keyId)) lines.row('rate_limits', row);
  }

  for (const row of account.noticeStateRows) lines.row('notice_states', row);

  let [entries, entriesSum] = [0, 0n];
  const onEntry = ({ row, amount_nano: amountNano }: RowOf<'ledger_entries'>): void => {
    lines.row('ledger_entries', row);
    entriesSum += amountNano;
    entries++;
  };
  while (!tables.ledger_entries.visit(id, onEntry)) yield* nextSlice(tables.ledger_entries, lines);

  let [calls, chargesSum] = [0, 0n];
  const onCall = ({ row, charge_nano: chargeNano }: RowOf<'calls'>): void => {
    lines.row('calls', row);
    chargesSum += chargeNano ?? 0n;
    calls++;
  };
  while (!tables.calls.visit(id, onCall)) yield* nextSlice(tables.calls, lines);

  if (hasDropped) yield* plainRowsOf(['dropped_calls', 'dropped_uses', 'dropped_usage']);

  const slots = new Map<string, number>();
  const onSlot = ({ row, subscription_id: subscriptionId, call_id: callId }: RowOf<'plan_slots'>): void => {
    if (account.releasedSlots.has(callId)) return;
    lines.row('plan_slots', row);
    slots.set(subscriptionId, (slots.get(subscriptionId) ?? 0) + 1);
  };
  while (!tables.plan_slots.visit(id, onSlot)) yield* nextSlice(tables.plan_slots, lines);
  // Slots that are over may have been deleted since the cut.
  for (const row of account.subscriptionRows(slots)) lines.row('subscriptions', row);

  yield* plainRowsOf([
    'subscription_requests',
    'plan_periods',
    'voucher_redemptions',
    'continuation_keys',
    'stored_responses',
  ]);
  lines.accountEnd({
    account: id,
    balance: String(account.balanceNano),
    entries,
    entriesSum: String(entriesSum),
    calls,
    chargesSum: String(chargesSum),
  });

  async function* plainRowsOf(names: readonly SlicedTable[]): AsyncIterable<string> {
    for (const name of names) {
      const onRow = ({ row }: ExportedRow): void => lines.row(name, row);
      while (!tables[name].visit(id, onRow)) yield* nextSlice(tables[name], lines);
    }
  }
}

async function* nextSlice(rows: Pick<BatchRows<ExportedRow>, 'readSlice'>, lines: LinesOut): AsyncIterable<string> {
  yield* lines.take();
  await rows.readSlice();
}

/** Gathers lines, counts them, and sums up what they say. */
class LinesOut {
  #pending: string[] = [];
  readonly #digest = new LineDigest();
  readonly #rows = Object.fromEntries(EXPORTED_TABLES.map((table) => [table, 0])) as Record<ExportedTable, number>;
  #accounts = 0;
  #unsoundAccounts = 0;
  #balances = 0n;
  #entriesSum = 0n;
  #chargesSum = 0n;

  row(table: ExportedTable, json: string): void {
    this.#rows[table]++;
    this.#add(lineOf(table, json));
  }

  accountEnd(end: AccountEnd): void {
    this.#accounts++;
    if (!isSound(end)) this.#unsoundAccounts++;
    this.#balances += BigInt(end.balance);
    this.#entriesSum += BigInt(end.entriesSum);
    this.#chargesSum += BigInt(end.chargesSum);
    this.control('account_end', end);
  }

  control(name: string, value: object): void {
    this.#add(lineOf(name, JSON.stringify(value)));
  }

  /** The lines since the last time, as one text, if there are any. */
  *take(): Generator<string> {
    if (this.#pending.length === 0) return;
    const text = this.#pending.join('');
    this.#pending = [];
    this.#digest.add(text);
    yield text;
  }

  /** Of all lines that have been taken. */
  get end(): ExportEnd {
    return {
      rows: { ...this.#rows },
      accounts: this.#accounts,
      unsoundAccounts: this.#unsoundAccounts,
      balances: String(this.#balances),
      entriesSum: String(this.#entriesSum),
      chargesSum: String(this.#chargesSum),
      sha256: this.#digest.sha256,
    };
  }

  #add(line: string): void {
    this.#pending.push(line);
  }
}
