import { isPersonId } from '../accounting/accounts/key-limit-tables.ts';
import type { Clock } from '../lib/clock.ts';
import type { ExportedAccount, ExportStore } from './export-store.ts';
import type { AccountTable, ExportedRow, RowOf } from './export-tables-store.ts';
import { type AccountEnd, type ExportEnd, type ExportHead, FORMAT, isSound, LineDigest, lineOf } from './format.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

interface ExportParts {
  readonly store: ExportStore;
  /** The version of the schema. */
  readonly schema: number;
  readonly clock: Clock;
  /** For tests: text that is gathered before it is yielded. Rows that were read together may be more. */
  readonly textBytesMax?: number;
}

const TEXT_BYTES_MAX = 64 * 1024;

/**
 * All of a database as lines of text (`format.ts`), as of one state, while calls go on. What calls in flight hold is free in the
 * export, and their ends are in this database only.
 */
export async function* exportDatabase(parts: ExportParts): AsyncGenerator<string> {
  const { store, schema, clock, textBytesMax = TEXT_BYTES_MAX } = parts;
  const reader = await store.open();
  const lines = new LinesOut(textBytesMax);
  async function* written(table: ExportedTable, found: AsyncIterable<readonly ExportedRow[]>): AsyncIterable<string> {
    for await (const rows of found) {
      for (const { row } of rows) lines.row(table, row);
      yield* lines.takeIfMany();
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
    yield* lines.take();
    for await (const account of reader.accounts()) yield* linesOf(account, lines);
    yield* written('account_requests', reader.rowsOf('account_requests'));
    for (const table of ['price_lists', 'dropped_months'] as const) yield* written(table, reader.sharedRows(table));
    for (const table of AFTER_ACCOUNTS) yield* written(table, reader.rowsOf(table));
    for (const table of ['vouchers', 'voucher_batches'] as const) yield* written(table, reader.rowsOfVouchers(table));
    yield* lines.take();
    lines.control('end', lines.end);
    yield* lines.take();
  } finally {
    await reader.close();
  }
}

const AFTER_ACCOUNTS = [
  'route_drains',
  'admin_tokens',
  'users',
  'memberships',
  'user_identities',
  'changes',
  'webhook_endpoints',
] as const;

async function* linesOf({ id, row, released, rows }: ExportedAccount, lines: LinesOut): AsyncIterable<string> {
  /** `onRow`: looks at each row. */
  async function* written<Table extends AccountTable>(
    table: Table,
    onRow: (row: RowOf<Table>) => void = () => undefined,
    isExported: (row: RowOf<Table>) => boolean = () => true,
  ): AsyncIterable<string> {
    const found = rows[table].of(id) as AsyncIterable<readonly RowOf<Table>[]>;
    for await (const some of found) {
      for (const each of some.filter(isExported)) {
        onRow(each);
        lines.row(table, each.row);
      }
      yield* lines.takeIfMany();
    }
  }
  lines.row('accounts', row);
  lines.row('balances', released.balanceRow);
  const keyIds = new Set<string>();
  yield* written('api_keys', ({ id: keyId }) => void keyIds.add(keyId));
  // A key that is being made may not be there yet.
  for (const { keyId, row: limits } of released.keyLimitRows) {
    if (isPersonId(keyId) || keyIds.has(keyId)) lines.row('key_limits', limits);
  }
  for (const { keyId, row: limits } of released.rateLimitRows) {
    if (keyId === '' || keyIds.has(keyId)) lines.row('rate_limits', limits);
  }
  yield* written('notice_states');
  let [entries, entriesSum] = [0, 0n];
  yield* written('ledger_entries', ({ amount_nano: amountNano }) => {
    entriesSum += amountNano;
    entries++;
  });
  let [calls, chargesSum] = [0, 0n];
  yield* written('calls', ({ charge_nano: chargeNano }) => {
    chargesSum += chargeNano ?? 0n;
    calls++;
  });
  for (const table of ['dropped_calls', 'dropped_uses', 'dropped_usage'] as const) yield* written(table);
  const isKept = ({ call_id: callId }: RowOf<'plan_slots'>): boolean => !released.releasedSlots.has(callId);
  yield* written('plan_slots', undefined, isKept);
  for (const subscription of released.subscriptionRows) lines.row('subscriptions', subscription);
  for (const table of AFTER_SUBSCRIPTIONS) yield* written(table);
  lines.accountEnd({
    account: id,
    balance: String(released.balanceNano),
    entries,
    entriesSum: String(entriesSum),
    calls,
    chargesSum: String(chargesSum),
  });
}

const AFTER_SUBSCRIPTIONS = [
  'subscription_requests',
  'plan_periods',
  'voucher_redemptions',
  'continuation_keys',
  'stored_responses',
] as const;

/** Gathers lines, counts them, and sums up what they say. */
class LinesOut {
  readonly #textBytesMax: number;
  #pending: string[] = [];
  #pendingBytes = 0;
  readonly #digest = new LineDigest();
  readonly #rows = Object.fromEntries(EXPORTED_TABLES.map((table) => [table, 0])) as Record<ExportedTable, number>;
  #accounts = 0;
  #unsoundAccounts = 0;
  #balances = 0n;
  #entriesSum = 0n;
  #chargesSum = 0n;

  constructor(textBytesMax: number) {
    this.#textBytesMax = textBytesMax;
  }

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

  *takeIfMany(): Generator<string> {
    if (this.#pendingBytes >= this.#textBytesMax) yield* this.take();
  }

  /** The lines since the last time, as one text, if there are any. */
  *take(): Generator<string> {
    if (this.#pending.length === 0) return;
    const text = this.#pending.join('');
    this.#pending = [];
    this.#pendingBytes = 0;
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
    this.#pendingBytes += line.length;
  }
}
