import assert from 'node:assert/strict';
import { type CallRecord, createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import type { Database } from '../../src/db/database.ts';
import { type PlannedCall, RERANK_NANO, type Reading } from './chaos-calls.ts';
import { isOfLateDatabase, type Outcome } from './chaos-clients.ts';
import { costNano } from './gateway.ts';
import { inOneDatabase } from './in-one-database.ts';
import { assertSound } from './sound.ts';
import { sql } from './sql.ts';

/**
 * Compares what the clients of a chaos run know with the database. Expected charges follow from the responses that clients got; for an
 * incomplete response, from the usage in the call record.
 */
export interface Comparison {
  /** Counts of calls by outcome, for people to read. */
  readonly counts: Readonly<Record<string, number>>;
  readonly chargedNano: bigint;
  readonly recordCount: number;
}

/** Refused at admission, so there is no call record. */
const NOT_ADMITTED = new Set([
  'insufficient_balance',
  'balance_daily_limit_exceeded',
  'package_5h_quota_exhausted',
  'package_concurrency_limited',
  'key_daily_spend_limit_exceeded',
  'key_concurrency_limited',
]);
/** The errors that the providers' faults cause: the providers' own messages, or the gateway's if there was none. */
const PROVIDER_ERRORS = new Set(['chaos_drop', 'chaos_ratelimit', 'overloaded', 'upstream_error']);
/** No route was left, before or after admission. */
const NO_ROUTE = 'MODEL_ROUTING_NO_HEALTHY_ROUTE';

export async function compareBooks(
  database: Database,
  outcomes: readonly Outcome[],
  accountOf: (call: PlannedCall) => string,
  executed: readonly number[],
): Promise<Comparison> {
  await assertSound(inOneDatabase(database));
  await assertNothingHeld(database);
  const { items: records } = await createCallsStore(database).list(EVERYTHING, null, 1_000_000);
  const byRequest = Map.groupBy(records, ({ requestId }) => requestId);
  for (const [requestId, same] of byRequest) assert.equal(same.length, 1, `${requestId} has ${same.length} records`);

  const timesExecuted = countBy(executed, String);
  const counts: Record<string, number> = {};
  const chargedNano = new Map<string, bigint>();
  const charge = (accountId: string, amountNano: bigint): void => {
    chargedNano.set(accountId, (chargedNano.get(accountId) ?? 0n) + amountNano);
  };
  const silent: PlannedCall[] = [];
  const matched = new Set<CallRecord>();
  for (const outcome of outcomes) {
    const { call, status, headers, record: settled } = outcome;
    assert.notEqual(settled, 'broken', `the response of call ${call.number} broke off: ${outcome.text.slice(-500)}`);
    const accountId = accountOf(call);
    assert.ok((timesExecuted[call.number] ?? 0) <= 1, `call ${call.number} was carried out more than once`);
    let what: string;
    if (status === null) {
      silent.push(call);
      what = 'left before the response';
    } else {
      const record = byRequest.get(String(headers['x-request-id']))?.[0] ?? null;
      if (record !== null) {
        matched.add(record);
        assert.equal(record.accountId, accountId);
        assert.equal(record.operation, call.kind.name.replace('coding ', '').replace(' stream', ''));
        assert.equal(record.isStream, call.kind.isStream);
      }
      const judged = judge(outcome, record, timesExecuted[call.number] ?? 0);
      what = judged.what;
      charge(accountId, judged.chargeNano);
    }
    counts[what] = (counts[what] ?? 0) + 1;
  }

  // Calls whose clients left before any response have at most one record each.
  const unmatched = records.filter((record) => !matched.has(record));
  const silentOf = countBy(silent, accountOf);
  for (const [accountId, count] of Object.entries(countBy(unmatched, (record) => record.accountId))) {
    assert.ok(count <= (silentOf[accountId] ?? 0), `${accountId} has ${count} records that no client knows of`);
  }
  for (const record of unmatched) {
    const call = silent.find(
      (candidate) => accountOf(candidate) === record.accountId && candidate.usage.input === record.units.inputTokens,
    );
    if (record.usageSource === 'observed' && call !== undefined) assertPlanned(record, call);
    charge(record.accountId, assertChargedAsRecorded(record));
  }

  await assertBalances(database, chargedNano);
  await assertPlans(database, records);
  const all = [...chargedNano.values()].reduce((sum, amount) => sum + amount, 0n);
  return { counts, chargedNano: all, recordCount: records.length };
}

const EVERYTHING = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };

function countBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}

/** The outcome of a call whose client got a response, and its charge. Fails if the database differs. */
function judge(outcome: Outcome, record: CallRecord | null, executions: number): { what: string; chargeNano: bigint } {
  const { call, status, headers, text, record: settled } = outcome;
  const said =
    `call ${call.number} (${call.kind.name}, ${status}, ${settled}, in the database ${record?.status} ` +
    `${record?.errorCode} ${record?.usageSource}): ${text.slice(-500)}`;

  if (status !== 200) {
    const code = String(headers['x-error-code']);
    const what = `${status} ${code}`;
    if (isOfLateDatabase(outcome)) {
      // The client repeated the call, so the provider may have run the first one.
      assert.equal(record, null, said);
      return { what, chargeNano: 0n };
    }
    if (NOT_ADMITTED.has(code)) {
      assert.equal(record, null, said);
      assert.equal(executions, 0, said);
      return { what, chargeNano: 0n };
    }
    if (code === NO_ROUTE && record === null) return { what, chargeNano: 0n };
    assert.ok(code === NO_ROUTE || PROVIDER_ERRORS.has(code), said);
    assert.ok(record, said);
    assert.deepEqual(
      [record.status, record.httpStatus, record.errorCode, record.usageSource, record.chargeNano],
      ['failed', status, code, null, null],
      said,
    );
    return { what, chargeNano: 0n };
  }

  assert.ok(record, said);
  assert.equal(record.httpStatus, 200, said);
  const reading = settled === 'whole' ? call.kind.read(text) : null;
  const isComplete = reading?.isComplete === true && !reading.hasError;
  // A non-streaming response is sent after settlement, so a client that saw its status was charged for it.
  if (isComplete || !call.kind.isStream) {
    assert.deepEqual([record.status, record.errorCode], ['succeeded', null], said);
    if (call.kind.name !== 'rerank') assert.equal(executions, 1, said);
    if (isComplete) assertResponded(call, reading, said);
    assertPlanned(record, call);
    assert.equal(record.chargeNano, call.kind.context === 'coding' ? null : call.costNano, said);
    return { what: 'succeeded', chargeNano: call.costNano };
  }
  if (settled === 'whole') {
    assert.ok(reading!.hasError && !reading!.isComplete, said);
    assert.deepEqual([record.status, record.errorCode], ['aborted', 'upstream_error'], said);
  }
  if (record.usageSource === 'observed') assertPlanned(record, call);
  else assertEstimated(record, call);
  const what = `${settled === 'left' ? 'left the stream' : 'stream broke off'}: ${record.status}, ${record.usageSource}`;
  return { what, chargeNano: assertChargedAsRecorded(record) };
}

/** The response is complete, belongs to this call, and reports the provider's usage. */
function assertResponded(call: PlannedCall, { text, usage }: Reading, said: string): void {
  if (text !== null) assert.equal(text, call.prompt, said);
  if (text !== null && usage !== null) assert.deepEqual(usage, call.usage, said);
  if (call.body.includes('"include_usage"') || !call.kind.name.endsWith('chat stream')) {
    assert.ok(usage !== null || call.kind.name === 'rerank', said);
  } else assert.equal(usage, null, said);
}

/** The record has the usage that the provider reports for this call. */
function assertPlanned(record: CallRecord, call: PlannedCall): void {
  const isCounted = call.kind.name !== 'rerank' && call.kind.name !== 'embeddings';
  assert.deepEqual(
    [record.usageSource, record.units.inputTokens, record.units.outputTokens],
    ['observed', isCounted ? call.usage.input : 0, isCounted ? call.usage.output : 0],
    `call ${call.number}`,
  );
}

/** At most what the provider would have reported, or the estimate for the whole text. */
function assertEstimated(record: CallRecord, call: PlannedCall): void {
  if (record.usageSource === null) return;
  const { inputTokens, outputTokens } = record.units;
  assert.ok(inputTokens > 0 && inputTokens <= Math.max(call.usage.input, call.body.length));
  const outputMax = Math.max(call.usage.output, Math.ceil(call.prompt.length / 4));
  assert.ok(outputTokens <= outputMax, `${outputTokens} > ${outputMax}: call ${call.number}`);
}

/** The charge follows from the usage in the record. A call that is not charged has no usage. */
function assertChargedAsRecorded(record: CallRecord): bigint {
  const { status, usageSource, context, chargeNano } = record;
  if (status === 'failed') assert.equal(usageSource, null, record.id);
  if (usageSource === null || context === 'coding') {
    assert.equal(chargeNano, null, record.id);
    return 0n;
  }
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = record.units;
  assert.deepEqual([cachedInputTokens, cacheWriteTokens], [0, 0], record.id);
  const cost = record.operation === 'rerank' ? RERANK_NANO : costNano({ input: inputTokens, output: outputTokens });
  assert.equal(chargeNano, cost, record.id);
  return cost;
}

/** No reservation and no call in flight is left on balances, plans and keys. */
async function assertNothingHeld(database: Database): Promise<void> {
  const [left] = await sql<Record<string, bigint>>(
    database,
    `select (select count(*) from reservations) as reservations, (select sum(reserved_nano)::bigint from balances) as held,
  (select sum(in_flight)::bigint from subscriptions) as plans_in_flight,
  (select sum(in_flight)::bigint from key_limits) as keys_in_flight,
  (select sum(reserved_nano)::bigint from key_limits) as keys_held`,
  );
  assert.deepEqual(
    new Set(Object.values(left!)),
    new Set([0n]),
    JSON.stringify(left, (_, value) => String(value)),
  );
}

/** Every balance is what was paid in minus what calls cost, with one ledger entry per charge. */
async function assertBalances(database: Database, chargedNano: ReadonlyMap<string, bigint>): Promise<void> {
  const rows = await sql<{ account_id: string; balance: bigint; paid_in: bigint; charged: bigint }>(
    database,
    `select b.account_id, b.balance_nano as balance,
  coalesce(sum(e.amount_nano) filter (where e.kind = 'top_up'), 0)::bigint as paid_in,
  -coalesce(sum(e.amount_nano) filter (where e.kind <> 'top_up'), 0)::bigint as charged
from balances b left join ledger_entries e using (account_id) group by b.account_id, b.balance_nano`,
  );
  for (const { account_id: accountId, balance, paid_in: paidIn, charged } of rows) {
    const expected = chargedNano.get(accountId) ?? 0n;
    assert.deepEqual({ accountId, charged, balance }, { accountId, charged: expected, balance: paidIn - expected });
  }
}

/**
 * A subscription used one slot per call whose success began, and the tokens of these calls. An unusable success keeps its slot, and a
 * broken connection frees it; their records look the same, so each may have a slot.
 */
async function assertPlans(database: Database, records: readonly CallRecord[]): Promise<void> {
  const rows = await sql<{ account_id: string; slots: bigint; week_calls: bigint; tokens: bigint }>(
    database,
    'select account_id, slots, week_calls, period_tokens as tokens from subscriptions',
  );
  for (const { account_id: accountId, slots, week_calls: weekCalls, tokens } of rows) {
    const begun = records.filter(
      (record) =>
        record.accountId === accountId &&
        record.context === 'coding' &&
        (record.status === 'succeeded' || (record.status === 'aborted' && record.usageSource !== null)),
    );
    const used = begun.reduce((sum, { units }) => sum + units.inputTokens + units.outputTokens, 0);
    const unusable = records.filter(
      ({ errorCode, ...record }) =>
        record.accountId === accountId && record.context === 'coding' && errorCode === 'upstream_error',
    );
    const slotsMin = BigInt(begun.length);
    assert.deepEqual({ weekCalls, tokens }, { weekCalls: slots, tokens: BigInt(used) });
    assert.ok(slots >= slotsMin && slots <= slotsMin + BigInt(unusable.length), `${slots} slots, ${slotsMin} begun`);
  }
}
