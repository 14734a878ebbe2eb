import type { Clock } from '../../lib/clock.ts';
import type { CutAccount, ExportedRow, ExportReader, ExportStore } from './export-store.ts';
import { type AccountEnd, type ExportEnd, type ExportHead, FORMAT, isSound, LineDigest, lineOf } from './format.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

export interface ExportParts {
  readonly store: ExportStore;
  /** The version of the schema. */
  readonly schema: number;
  readonly clock: Clock;
}

/**
 * All of a database as lines of text (`format.ts`), a slice at a time: each account as of its last ledger entry when it is
 * read, while calls go on. What calls in flight hold is free in the export, and their ends are in this database only.
 */
export async function* exportDatabase({ store, schema, clock }: ExportParts): AsyncGenerator<string> {
  const reader = await store.open();
  try {
    const lines = new LinesOut();
    const head: ExportHead = {
      format: FORMAT,
      schema,
      identity: await reader.readIdentity(),
      exportedAt: new Date(clock.nowMs()).toISOString(),
      accounts: await reader.countAccounts(),
      tables: await reader.readColumns(),
    };
    lines.control('faregate_export', head);
    let lastId = '';
    for await (const id of reader.accountIds()) {
      const account = await reader.readAccount(id);
      if (account !== null) yield* linesOf(id, account, reader, lines);
      lastId = id;
    }
    // Behind the accounts, because ids sort by time: so each account that is made meanwhile comes with its request, or not at all.
    yield* rowsOf('account_requests', reader.accountRequests(lastId), lines);
    // Last, so that every list is there that a record refers to.
    yield* rowsOf('price_lists', reader.priceLists(), lines);
    yield* rowsOf('route_drains', reader.routeDrains(), lines);
    yield* rowsOf('admin_tokens', reader.adminTokens(), lines);
    lines.control('end', lines.end);
    yield lines.take();
  } finally {
    await reader.close();
  }
}

async function* linesOf(id: string, account: CutAccount, reader: ExportReader, lines: LinesOut): AsyncIterable<string> {
  const slices = reader.slicesOf(id, account.cut);
  lines.row('accounts', account.accountRow);
  lines.row('balances', account.balanceRow);
  yield* rowsOf('api_keys', slices.apiKeys, lines);
  for (const row of account.keyLimitRows) lines.row('key_limits', row);
  for (const row of account.rateLimitRows) lines.row('rate_limits', row);

  let entriesSum = 0n;
  let entries = 0;
  for await (const slice of slices.ledgerEntries) {
    for (const { row, amount_nano } of slice) {
      lines.row('ledger_entries', row);
      entriesSum += amount_nano;
      entries++;
    }
    yield lines.take();
  }

  let chargesSum = 0n;
  let calls = 0;
  for await (const slice of slices.calls) {
    for (const { row, charge_nano } of slice) {
      lines.row('calls', row);
      chargesSum += charge_nano ?? 0n;
      calls++;
    }
    yield lines.take();
  }

  const slots = new Map<string, number>();
  for await (const slice of slices.planSlots) {
    for (const { row, subscription_id, call_id } of slice) {
      if (account.releasedSlots.has(call_id)) continue;
      lines.row('plan_slots', row);
      slots.set(subscription_id, (slots.get(subscription_id) ?? 0) + 1);
    }
    yield lines.take();
  }
  // Slots that are over may have been deleted since the cut.
  for (const row of account.subscriptionRows(slots)) lines.row('subscriptions', row);
  yield* rowsOf('subscription_requests', slices.subscriptionRequests, lines);
  yield* rowsOf('continuation_keys', slices.continuationKeys, lines);
  yield* rowsOf('stored_responses', slices.storedResponses, lines);
  lines.accountEnd({
    account: id,
    balance: String(account.balanceNano),
    entries,
    entriesSum: String(entriesSum),
    calls,
    chargesSum: String(chargesSum),
  });
  yield lines.take();
}

async function* rowsOf(
  table: ExportedTable,
  slices: AsyncIterable<readonly ExportedRow[]>,
  lines: LinesOut,
): AsyncIterable<string> {
  for await (const slice of slices) {
    for (const { row } of slice) lines.row(table, row);
    yield lines.take();
  }
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

  /** The lines since the last time. */
  take(): string {
    const text = this.#pending.join('');
    this.#pending = [];
    return text;
  }

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
    this.#digest.add(line);
    this.#pending.push(line);
  }
}
