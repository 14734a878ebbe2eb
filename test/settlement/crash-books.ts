import assert from 'node:assert/strict';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { type CallRecord, createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import type { Database } from '../../src/db/database.ts';
import { parseYuan } from '../../src/lib/yuan.ts';
import { handlesOf } from '../support/spread-database.ts';
import { type Attempt, type CrashProvider, costOf, PAID_IN_YUAN, type Purse, responseId } from './crash-load.ts';

/** Compares what the clients of a crash run know with the database. */

/** How many reservations there are, and what accounts, plans and keys have as reserved or in flight. */
export async function leftHeld(database: Database): Promise<Record<string, number>> {
  const [left] = await database.query<Record<string, number>>({
    name: 'test.crash-left',
    text: `select (select count(*)::int from reservations) as reservations, (select sum(reserved_nano)::float from balances) as reserved_nano,
  (select sum(in_flight)::int from subscriptions) as plan_places, (select sum(in_flight)::int from key_limits) as key_places,
  (select sum(reserved_nano)::float from key_limits) as key_held`,
  });
  return left!;
}

export async function assertCrashBooks(
  database: Database,
  attempts: readonly Attempt[],
  purses: readonly Purse[],
  provider: CrashProvider,
  { isAlone }: { isAlone: boolean },
): Promise<Record<string, number>> {
  const breached = (await auditLedger(handlesOf(database))).filter(({ breaches }) => breaches.length > 0);
  assert.deepEqual(breached, []);
  assert.deepEqual(new Set(Object.values(await leftHeld(database))), new Set([0]));

  const { items: records } = await createCallsStore(database).list(EVERYTHING, null, 10_000_000);
  const byResponse = Map.groupBy(records, ({ requestId }) => requestId);
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  for (const [number, tries] of Map.groupBy(attempts, (attempt) => attempt.number)) {
    const ofCall = byResponse.get(responseId(number)) ?? [];
    assertCall(number, tries, ofCall, provider);
    for (const { belief, callKind } of tries) count(`${callKind.name}: ${belief}`);
  }
  for (const { requestId, belief } of attempts) {
    // A refusal by the gateway has an id of its own.
    if (belief !== 'free' || requestId === undefined || requestId.startsWith('answer-')) continue;
    for (const record of byResponse.get(requestId) ?? []) assert.equal(record.chargeNano, null, record.id);
  }
  for (const { status } of records) count(`recorded as ${status}`);
  for (const { errorCode } of records) if (errorCode === 'repeat_charged') count(errorCode);

  await assertLedgerOf(database, records, purses);
  await assertPlan(database, isAlone ? attempts : [], records);
  return counts;
}

const EVERYTHING = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };

/** One call: all attempts to make it, and the records of all responses to it. */
function assertCall(
  number: number,
  tries: readonly Attempt[],
  records: readonly CallRecord[],
  provider: CrashProvider,
): void {
  const said = `call ${number}: ${inspect(tries)}\nin the database: ${inspect(records)}`;
  const [{ callKind }] = tries as [Attempt];
  const isKeyed = callKind.purse === 'idempotency key';
  const charged = records.filter(({ chargeNano }) => chargeNano !== null);
  const succeeded = records.filter(({ status, errorCode }) => status === 'succeeded' && errorCode === null);
  assert.ok(charged.length <= 1, said);
  for (const { status, usageSource, chargeNano } of charged) {
    assert.ok(status === 'succeeded' || status === 'aborted', said);
    if (usageSource === 'observed') assert.equal(chargeNano, costOf(number), said);
  }
  if (!isKeyed) assert.ok(provider.executionsOf(number) <= 1 && records.length <= 1, said);
  if (records.length > 0) assert.ok(provider.executionsOf(number) >= 1, said);
  if (isKeyed || tries.some(({ belief }) => belief === 'success')) {
    assert.equal(succeeded.length, 1, said);
    assert.equal(succeeded[0]!.chargeNano, callKind.purse === 'plan' ? null : costOf(number), said);
  } else if (tries.some(({ belief }) => belief === 'free')) {
    assert.deepEqual([charged.length, succeeded.length], [0, 0], said);
  }
}

/** Each record with a charge has one ledger entry of its amount, and every balance is what was paid in less these entries. */
async function assertLedgerOf(database: Database, records: readonly CallRecord[], purses: readonly Purse[]) {
  const entries = await database.query<{ account_id: string; call_id: string; amount: bigint }>({
    name: 'test.crash-charges',
    text: `select account_id, call_id, -amount_nano as amount from ledger_entries where kind = 'charge'`,
  });
  const key = (accountId: string, callId: string, amount: bigint): string => `${accountId} ${callId} ${amount}`;
  const charges = records.flatMap(({ accountId, id, chargeNano }) =>
    chargeNano === null ? [] : [key(accountId, id, chargeNano)],
  );
  assert.deepEqual(entries.map((each) => key(each.account_id, each.call_id, each.amount)).sort(), charges.sort());
  const balances = await database.query<{ account_id: string; balance: bigint }>({
    name: 'test.crash-balances',
    text: 'select account_id, balance_nano as balance from balances',
  });
  const paidIn = parseYuan(PAID_IN_YUAN)!;
  for (const { name, accountId } of purses) {
    const spent = entries.filter((each) => each.account_id === accountId).reduce((sum, { amount }) => sum + amount, 0n);
    assert.equal(balances.find((each) => each.account_id === accountId)!.balance, paidIn - spent, name);
    if (name === 'plan') assert.equal(spent, 0n);
  }
}

/**
 * Every success that was delivered on the plan uses a slot, and nothing else does but calls that had begun. If another node may have
 * considered the call's node dead before its end was known, the slot was released and stays so: `attempts` is empty.
 */
async function assertPlan(database: Database, attempts: readonly Attempt[], records: readonly CallRecord[]) {
  const [plan] = await database.query<{ slots: number; taken: number; week_calls: number }>({
    name: 'test.crash-plan',
    text: `select slots::int, week_calls::int, (select count(*)::int from plan_slots) as taken from subscriptions`,
  });
  const delivered = attempts.filter(({ callKind, belief }) => callKind.purse === 'plan' && belief === 'success').length;
  const begun = records.filter(
    ({ context, status, usageSource }) =>
      context === 'coding' && (status === 'succeeded' || (status === 'aborted' && usageSource !== null)),
  ).length;
  const { slots, taken, week_calls: weekCalls } = plan!;
  assert.deepEqual([slots, weekCalls], [taken, taken]);
  assert.ok(delivered <= slots && slots <= begun, `${delivered} delivered, ${slots} slots taken, ${begun} begun`);
}

function inspect(value: unknown): string {
  return JSON.stringify(value, (_name, each) => (typeof each === 'bigint' ? String(each) : each), 1);
}
