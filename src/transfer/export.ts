import { ownerIdOf } from '../accounting/accounts/budget-ids.ts';
import { callerOfBudget } from '../accounting/accounts/caller-budget-ids.ts';
import { isPersonId } from '../accounting/accounts/key-limit-tables.ts';
import type { Clock } from '../lib/clock.ts';
import { type AccountTable, type ExportedAccount, openExport } from './export-store.ts';
import type { AccountRow } from './export-tables-store.ts';
import { type AccountEnd, type ExportEnd, type ExportHead, FORMAT, isSound, LineDigest, lineOf } from './format.ts';
import { byTable, type ExportedTable } from './tables.ts';

interface ExportDependencies {
  readonly directory: Parameters<typeof openExport>[0];
  readonly schema: number;
  readonly clock: Clock;
  readonly textBytesMax?: number;
  readonly rowsMax?: number;
}

const TEXT_BYTES_MAX = 64 * 1024;

/**
 * Yields the lines of an export (`format.ts`) from one snapshot, while calls continue. Reservations of calls in flight are exported as
 * released; these calls settle only in this database.
 * @throws TransferError if an account has no balance
 */
export async function* exportDatabase(dependencies: ExportDependencies): AsyncGenerator<string> {
  const { directory, schema, clock, textBytesMax = TEXT_BYTES_MAX, rowsMax } = dependencies;
  const reader = await openExport(directory, rowsMax);
  const lines = new LinesOut();
  try {
    const head: ExportHead = {
      format: FORMAT,
      schema,
      ...(await reader.readHead()),
      exportedAt: new Date(clock.nowMs()).toISOString(),
    };
    lines.control('faregate_export', head);
    yield* lines.take();
    for await (const account of reader.accounts()) yield* linesOf(account, lines, textBytesMax);
    for await (const { table, rows } of reader.wholeTables()) {
      for (const { row } of rows) lines.row(table, row);
      yield* lines.take(textBytesMax);
    }
    yield* lines.take();
    lines.control('end', lines.end);
    yield* lines.take();
  } finally {
    await reader.close();
  }
}

async function* linesOf(
  { id, row, released, rows }: ExportedAccount,
  lines: LinesOut,
  bytesMin: number,
): AsyncIterable<string> {
  /** Yields rows as lines. Returns their number and the sum of their amounts. */
  async function* written(
    table: AccountTable,
    onRow: (row: AccountRow) => void = () => undefined,
    isExported: (row: AccountRow) => boolean = () => true,
  ): AsyncGenerator<string, { readonly count: number; readonly sum: bigint }> {
    let [count, sum] = [0, 0n];
    for await (const some of rows[table].of(id)) {
      for (const each of some.filter(isExported)) {
        onRow(each);
        lines.row(table, each.row);
        count++;
        sum += each.nano ?? 0n;
      }
      yield* lines.take(bytesMin);
    }
    return { count, sum };
  }
  lines.row('accounts', row);
  lines.row('balances', released.balanceRow);
  const keyIds = new Set<string>();
  yield* written('api_keys', ({ id: keyId }) => void keyIds.add(keyId!));
  // On Citus, the snapshot of a partition may have limits of a key that was created after the snapshot of keys.
  for (const { keyId, row: limits } of released.keyLimitRows) {
    const isOfKey = !isPersonId(keyId) && callerOfBudget(keyId) === null;
    if (!isOfKey || keyIds.has(ownerIdOf(keyId))) lines.row('key_limits', limits);
  }
  for (const { keyId, row: limits } of released.rateLimitRows) {
    if (keyId === '' || keyIds.has(keyId)) lines.row('rate_limits', limits);
  }
  const entries = yield* written('ledger_entries');
  const calls = yield* written('calls');
  yield* written('plan_slots', undefined, ({ id: callId }) => !released.releasedSlots.has(callId!));
  for (const subscription of released.subscriptionRows) lines.row('subscriptions', subscription);
  for (const table of AS_THEY_ARE) yield* written(table);
  lines.accountEnd({
    account: id,
    balance: String(released.balanceNano),
    entries: entries.count,
    entriesSum: String(entries.sum),
    calls: calls.count,
    chargesSum: String(calls.sum),
  });
}

const AS_THEY_ARE = [
  'notice_states',
  'dropped_calls',
  'dropped_uses',
  'dropped_usage',
  'subscription_requests',
  'plan_periods',
  'voucher_redemptions',
  'continuation_keys',
  'stored_responses',
] as const;
class LinesOut {
  #pending: string[] = [];
  #pendingBytes = 0;
  readonly #digest = new LineDigest();
  readonly #rows = byTable(() => 0);
  readonly #sums = { accounts: 0, unsoundAccounts: 0, balances: 0n, entriesSum: 0n, chargesSum: 0n };

  row(table: ExportedTable, json: string): void {
    this.#rows[table]++;
    this.#add(lineOf(table, json));
  }

  accountEnd(end: AccountEnd): void {
    this.#sums.accounts++;
    if (!isSound(end)) this.#sums.unsoundAccounts++;
    this.#sums.balances += BigInt(end.balance);
    this.#sums.entriesSum += BigInt(end.entriesSum);
    this.#sums.chargesSum += BigInt(end.chargesSum);
    this.control('account_end', end);
  }

  control(name: string, value: AccountEnd | ExportHead | ExportEnd): void {
    this.#add(lineOf(name, JSON.stringify(value)));
  }

  /** Yields the collected lines as one text, if they have at least `bytesMin` bytes. */
  *take(bytesMin = 1): Generator<string> {
    if (this.#pendingBytes < bytesMin) return;
    const text = this.#pending.join('');
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#digest.add(text);
    yield text;
  }

  get end(): ExportEnd {
    const { balances, entriesSum, chargesSum, ...counts } = this.#sums;
    const amounts = { balances: `${balances}`, entriesSum: `${entriesSum}`, chargesSum: `${chargesSum}` };
    return { rows: this.#rows, ...counts, ...amounts, sha256: this.#digest.sha256 };
  }

  #add(line: string): void {
    this.#pending.push(line);
    this.#pendingBytes += line.length;
  }
}
