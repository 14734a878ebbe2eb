import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { budgetId } from '../../src/accounting/accounts/budget-ids.ts';
import { createCallerBudgetStore } from '../../src/accounting/accounts/caller-budget-store.ts';
import { createKeyLimitStore } from '../../src/accounting/accounts/key-limit-store.ts';
import { createRateLimitStore } from '../../src/accounting/accounts/rate-limit-store.ts';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { type CallRecord, createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createResolutionStore } from '../../src/accounting/corrections/resolution-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { CALLER_ROWS_A_DAY_MAX } from '../../src/accounting/reservations/limits/caller-budgets.ts';
import {
  type CallName,
  factsText,
  type OpenReservation,
  type ReservationRequest,
} from '../../src/accounting/reservations/reservation.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import { callToWire } from '../../src/api/calls/wire.ts';
import type { Database } from '../../src/db/database.ts';
import { createNodeStore } from '../../src/db/nodes/nodes-store.ts';
import { byUnit } from '../../src/protocols/metering/usage-units.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  endCalls,
  FACTS,
  KNOWN,
  NOW_MS,
  openAccount,
  outcomeOf,
  readBalance,
  recordOf,
  requestOf,
  TIME,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestReservationStore, createTestSettlementStore } from '../support/call-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { locksAwaited, waitingForLocks } from '../support/locks.ts';
import { observeDatabase } from '../support/observed-database.ts';
import { propertyRuns } from '../support/scope.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

/** Calls of dead nodes: how they are found and resolved, and what happens if they end after all. */

const NOW = new Date(NOW_MS);
const LATER = new Date(NOW_MS + 60_000);
const SELF = 'node_self';
const DEAD_AFTER_MS = 3_600_000;
const EVERYTHING = 10_000;
const PLAN = planOf({
  id: 'plan_test',
  fiveHourCalls: 1_000_000,
  weeklyCalls: 1_000_000,
  concurrency: 1_000_000,
  quotaTokens: 1_000_000_000,
});

/** The reservation of a call on a Coding Plan. */
const ON_PLAN: Partial<ReservationRequest> = {
  plan: { inputBytes: 1, outputTokensRequested: 1, tokens: 7, innerModels: [] },
};

/** The stores of a node that handle calls in flight. */
function nodeOn(database: Database) {
  const reservations = createTestReservationStore(database);
  const settlement = createTestSettlementStore(database);
  async function admitAll(requests: readonly ReservationRequest[], nodeId = CONTEXT.nodeId): Promise<void> {
    const context = { ...CONTEXT, plans: new Map([[PLAN.id, PLAN]]), nodeId };
    const verdicts = await verdictsOn(reservations, requests, context);
    assert.deepEqual(new Set(verdicts), new Set(['admitted']));
  }
  return {
    reservations,
    settlement,
    keys: createKeyLimitStore(database),
    calls: createCallsStore(database),
    nodes: createNodeStore(database),
    admitAll,
    admit: (accountId: string, callId: string, amountNano: bigint, nodeId?: string): Promise<void> =>
      admitAll([requestOf(accountId, callId, amountNano)], nodeId),
    admitCoding: (accountId: string, callId: string, facts = FACTS, nodeId?: string): Promise<void> =>
      admitAll([requestOf(accountId, callId, null, { ...ON_PLAN, facts })], nodeId),
    listDead: (): Promise<CallName[]> => reservations.listOfDeadNodes(SELF, DEAD_AFTER_MS, EVERYTHING),
    /** Resolves calls; returns those that got a record, by name. */
    async resolve(calls: readonly CallName[]): Promise<OpenReservation[]> {
      const resolved = await settlement.resolve(calls, { ...TIME, nowMs: LATER.getTime() });
      return resolved.toSorted((left, right) => left.callId.localeCompare(right.callId));
    },
    /** Takes over all calls. The other nodes have no heartbeat, so they are dead. */
    async resolveAll(): Promise<OpenReservation[]> {
      return this.resolve(await this.listDead());
    },
  };
}

type TestNode = ReturnType<typeof nodeOn>;

const callIdsOf = (calls: readonly CallName[]): string[] => calls.map(({ callId }) => callId);

async function subscribe(database: Database, accountId: string): Promise<void> {
  await createSubscriptionStore(database).grant({
    accountId,
    id: `sub_${accountId}`,
    planId: PLAN.id,
    startsAt: NOW,
    endsAt: new Date(NOW_MS + 86_400_000),
    at: NOW,
  });
}

/** The values that distinguish ends of a call. */
function endOf(record: CallRecord | null) {
  if (record === null) return null;
  const { status, chargeNano, reservedNano } = record;
  return { status, chargeNano, reservedNano };
}

describe(`calls of dead nodes`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let node: TestNode;
  let accounts = 0;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    node = nodeOn(database);
  });
  after(async () => {
    try {
      await assertSound(inOneDatabase(database));
    } finally {
      await stored.remove();
    }
  });

  async function account(balanceNano: bigint): Promise<string> {
    const id = `acct_dead_${++accounts}`;
    await openAccount(database, id, balanceNano);
    return id;
  }

  it('are recorded with everything known at their admission, and are free', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_known', 30n);
    const open = (await node.listDead()).filter(({ accountId }) => accountId === id);
    assert.deepEqual(open, [{ accountId: id, callId: 'call_known' }]);
    assert.deepEqual(await node.resolve(open), [
      {
        accountId: id,
        callId: 'call_known',
        keyId: 'key_test',
        model: 'test',
        nodeId: 'node_test',
        reservedAtMs: NOW_MS,
        facts: FACTS,
        amountNano: 30n,
        subscriptionId: null,
        weekNo: null,
        rateTokens: null,
        periodNo: null,
        tokens: null,
        keyAmountNano: null,
        keyDayNo: null,
        memberId: null,
        memberDayNo: null,
        keyBudgetId: null,
        memberBudgetId: null,
        callerBudgetIds: null,
        rateFills: null,
        hasSlot: false,
      },
    ]);
    const record = await node.calls.find('call_known');
    assert.deepEqual(record, {
      id: 'call_known',
      accountId: id,
      keyId: 'key_test',
      groupId: 'resellers',
      context: 'balance',
      operation: 'chat',
      model: 'test',
      provider: 'first',
      providerModel: 'upstream "first"',
      failedRoutes: null,
      isStream: true,
      status: 'unresolved',
      httpStatus: null,
      errorCode: 'call_unresolved',
      requestId: 'req_first',
      clientRequestId: null,
      caller: { endUser: 'Ann', tags: ['batch'] },
      startedAt: NOW,
      endedAt: LATER,
      firstByteMs: null,
      usageSource: null,
      units: byUnit(() => 0),
      images: 0,
      priceRule: 'off_peak',
      prices: null,
      priceFactorBasisPoints: null,
      chargeNano: null,
      costNano: null,
      reservedNano: 30n,
      notes: null,
    });
    const { price, chargeYuan, heldYuan, usage } = callToWire(record!, { keyName: null, accountName: 'any' });
    assert.deepEqual([price, chargeYuan, heldYuan, usage], [{ rule: 'off_peak' }, null, '0.00000003', null]);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
  });

  it('are calls of nodes without a heartbeat, never of this node or a live one, and are released from plans and keys', async () => {
    const id = await account(100n);
    await subscribe(database, id);
    await createAccountStore(database).insertKey({
      accountId: id,
      id: 'key_dead',
      name: 'test',
      keyHash: Buffer.from(id),
      prefix: 'sk-fg-…',
      expiresAt: null,
      at: NOW,
    });
    await node.keys.change(id, 'key_dead', { concurrencyMax: 10 });
    await createRateLimitStore(database).change({ accountId: id, keyId: 'key_dead' }, { tokensMax: 1_000 });
    const tokensUsed = async (): Promise<unknown> =>
      (
        await sql<{ n: number }>(
          database,
          'select (tokens_used / 60000)::int as n from rate_limits where account_id = $1',
          [id],
        )
      )[0]!.n;
    for (const name of ['alive', 'silent']) await node.nodes.beat(`node_${name}`);
    await database.script(`update nodes set seen_at = seen_at - interval '2 hours' where id = 'node_silent'`);
    for (const name of ['self', 'alive', 'silent', 'unknown']) {
      const nodeId = `node_${name}`;
      await node.admit(id, `call_paid_${name}`, 1n, nodeId);
      await node.admitCoding(id, `call_coding_${name}`, FACTS, nodeId);
      const ofKey = { keyId: 'key_dead', isKeyLimited: true, isRateLimited: true, tokens: 7 };
      await node.admitAll([requestOf(id, `call_key_${name}`, 1n, ofKey)], nodeId);
    }
    const listed = async (deadAfterMs: number, limit = EVERYTHING): Promise<string[]> =>
      callIdsOf(await node.reservations.listOfDeadNodes(SELF, deadAfterMs, limit));
    const of = (...names: string[]) =>
      ['coding', 'key', 'paid'].flatMap((kind) => names.map((name) => `call_${kind}_${name}`));
    assert.deepEqual(await listed(DEAD_AFTER_MS), of('silent', 'unknown'));
    assert.deepEqual(await listed(DEAD_AFTER_MS, 1), of('silent').slice(0, 1));
    const [first] = await node.reservations.listOfDeadNodes(SELF, DEAD_AFTER_MS, 1);
    assert.deepEqual(
      callIdsOf(await node.reservations.listOfDeadNodes(SELF, DEAD_AFTER_MS, EVERYTHING, first)),
      of('silent', 'unknown').slice(1),
    );
    assert.deepEqual(await listed(3 * DEAD_AFTER_MS), of('unknown'));
    // A node that leaves is dead at once; one with a new heartbeat is not.
    await node.nodes.leave('node_alive');
    await node.nodes.beat('node_silent');
    assert.deepEqual(await listed(DEAD_AFTER_MS), of('alive', 'unknown'));
    for (const name of ['self', 'silent']) await node.nodes.leave(`node_${name}`);

    assert.equal(await tokensUsed(), 4 * 7);
    assert.deepEqual(callIdsOf(await node.resolveAll()), of('alive', 'silent', 'unknown'));
    const mine = await node.reservations.listOfNode(SELF);
    assert.deepEqual(callIdsOf(mine).toSorted(), of('self'));
    await node.reservations.release(mine, TIME);
    assert.deepEqual(await node.reservations.listOfNode(SELF), []);
    assert.equal((await readBalance(database, id)).reservedNano, 0n);
    assert.equal(await tokensUsed(), 0);
    const state = await createSubscriptionStore(database).findState(id, NOW);
    assert.deepEqual([state!.inFlight, state!.fiveHourCalls], [0, 0]);
    const [key] = await sql<object>(
      database,
      'select calls, in_flight, reserved_nano from key_limits where account_id = $1',
      [id],
    );
    assert.deepEqual(key, { calls: 0n, in_flight: 0n, reserved_nano: 0n });
  });

  it('are not calls of a node that starts or recovers during the scan', async () => {
    const id = await account(100n);
    const observed = observeDatabase(database);
    const looking = createTestReservationStore(observed.database);
    await node.admit(id, 'call_race_dead', 10n, 'node_race_dead');
    await node.admit(id, 'call_race_back', 10n, 'node_race_back');
    /** Lists calls while a node writes a heartbeat and admits a call, before a statement runs. */
    async function listedBeside(statement: string, nodeId: string, callId: string): Promise<string[]> {
      const held = observed.statement(statement);
      const before = held.asked;
      held.hold();
      const listed = looking.listOfDeadNodes(SELF, DEAD_AFTER_MS, EVERYTHING);
      await held.reached(before + 1);
      await node.nodes.beat(nodeId);
      await node.admit(id, callId, 10n, nodeId);
      held.release();
      return callIdsOf(await listed);
    }
    const all = ['call_race_back', 'call_race_dead'];
    assert.deepEqual(await listedBeside('nodes.select-dead', 'node_race_new', 'call_race_new'), all);
    await node.nodes.leave('node_race_new');
    const newer = await listedBeside('reservations.list-of-nodes', 'node_race_back', 'call_race_back_2');
    assert.deepEqual(newer, ['call_race_dead', 'call_race_new']);
    await node.nodes.leave('node_race_back');
    const left = await node.resolveAll();
    assert.deepEqual(callIdsOf(left), ['call_race_back', 'call_race_back_2', 'call_race_dead', 'call_race_new']);
  });

  it('are resolved once, however many nodes have found them', async () => {
    const id = await account(100n);
    for (const n of [1, 2, 3]) await node.admit(id, `call_once_${n}`, 10n);
    const open = await node.listDead();
    assert.deepEqual(callIdsOf(open), ['call_once_1', 'call_once_2', 'call_once_3']);
    assert.deepEqual(callIdsOf(await node.resolve(open.slice(0, 2))), ['call_once_1', 'call_once_2']);
    assert.deepEqual(callIdsOf(await node.resolve(open)), ['call_once_3']);
    assert.deepEqual(await node.resolve(open), []);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
  });

  it('are charged once if they end after all, and get the record of their end', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_late', 30n);
    await node.resolveAll();
    for (let n = 0; n < 2; n++) await endCalls(node.settlement, [outcomeOf(id, 'call_late', 20n)]);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, reservedNano: 0n, spentNano: 20n });
    const { items: records } = await node.calls.list({ ...NO_FILTER, accountId: id }, null, 10);
    assert.deepEqual(records, [await endedWith(id, 'call_late', 20n)]);
    // A call that was found before its end and is resolved afterwards changes nothing.
    assert.deepEqual(await node.resolve([{ accountId: id, callId: 'call_late' }]), []);
    assert.deepEqual(await node.calls.find('call_late'), records[0]);
  });

  it('are recorded as failed if they end without a charge after all', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_late_failed', 30n);
    await node.resolveAll();
    await endCalls(node.settlement, [outcomeOf(id, 'call_late_failed', null)]);
    assert.deepEqual(await node.calls.find('call_late_failed'), await endedWith(id, 'call_late_failed', null));
    assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
  });

  it('free what they reserved of budgets for a model and a tag, which count a late end or a later charge once', async () => {
    const id = await account(100n);
    const [keyId, userId] = [`key_${id}`, `usr_${id}`];
    const ofModel = { key: budgetId(keyId, 'test'), member: budgetId(userId, 'test') };
    const budgetIds = { ...ofModel, callers: ['tag red', 'tag new', 'tag newer'] };
    const change = [{ model: { id: 'test', aliases: [] }, caps: { totalSpendCapNano: 50n } }];
    for (const ownerId of [keyId, userId]) await node.keys.change(id, ownerId, {}, change);
    const callers = createCallerBudgetStore(database);
    for (const value of [null, 'red']) await callers.change(id, { kind: 'tag', value }, { dailySpendCapNano: 50n });
    // The default budget has given out all rows of the day, so the new tags share its own, which counts each call once.
    const full = { dayBeganAtMs: TIME.periodsAt(NOW_MS).dayBeganAtMs, calls: CALLER_ROWS_A_DAY_MAX };
    await sql(
      database,
      `update key_limits set day_began_at = $2, calls = $3 where account_id = $1 and key_id = 'tag'`,
      [id, new Date(full.dayBeganAtMs), full.calls],
    );
    const used = async () => {
      const rows = await sql<{ key_id: string; n: string }>(
        database,
        `select key_id, total_spent_nano || '+' || reserved_nano as n from key_limits where account_id = $1 and owner_id is not null order by key_id`,
        [id],
      );
      return rows.map(({ key_id, n }) => [key_id, n]);
    };
    const both = (use: string) => [ofModel.key, 'tag', 'tag red', ofModel.member].map((owner) => [owner, use]);
    const late = { ...outcomeOf(id, 'call_late', 20n), keyId };
    const lateEnd = recordOf(late, { key: { counts: true, chargeNano: 20n, budgetIds } });
    for (const callId of ['call_late', 'call_resolved']) {
      await node.admitAll([requestOf(id, callId, 30n, { keyId, budgetIds })]);
      assert.deepEqual(await used(), both(callId === 'call_late' ? '0+30' : '20+30'));
      await assertSound(inOneDatabase(database));
      await node.resolveAll();
      if (callId !== 'call_late') continue;
      assert.deepEqual(await used(), both('0+0'));
      for (let n = 0; n < 2; n++) await node.settlement.end([lateEnd], TIME);
      assert.deepEqual(await used(), both('20+0'));
    }
    const resolutions = createResolutionStore(database);
    const request = {
      callId: 'call_resolved',
      resolution: { action: 'charge', chargeNano: 7n },
      by: null,
      via: 'command_line',
      memo: null,
      idempotencyKey: null,
      periods: TIME.periodsAt(LATER.getTime()),
    } as const;
    assert.equal((await resolutions.resolve(request)).outcome, 'resolved');
    assert.equal((await resolutions.resolve(request)).outcome, 'repeated');
    assert.deepEqual(await used(), both('27+0'));
    await assertSound(inOneDatabase(database));
    // The audit compares them with the ledger and with reservations.
    await sql(
      database,
      'update key_limits set total_spent_nano = 28, reserved_nano = 1 where account_id = $1 and key_id = $2',
      [id, budgetIds.key],
    );
    const results = await auditLedger(inOneDatabase(database));
    assert.equal(results.filter(({ breaches }) => breaches.length > 0).length, 2);
    await sql(
      database,
      'update key_limits set total_spent_nano = 27, reserved_nano = 0 where account_id = $1 and key_id = $2',
      [id, budgetIds.key],
    );
  });

  it('keep a record whose outcome is known', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_final', 30n);
    await endCalls(node.settlement, [outcomeOf(id, 'call_final', null)]);
    const record = await node.calls.find('call_final');
    await endCalls(node.settlement, [{ ...outcomeOf(id, 'call_final', null), status: 'aborted' }]);
    assert.deepEqual(await node.calls.find('call_final'), record);
    // As if it had left a reservation.
    await node.admit(id, 'call_final', 30n);
    assert.deepEqual(await node.resolveAll(), []);
    assert.deepEqual(await node.calls.find('call_final'), record);
    assert.equal((await readBalance(database, id)).reservedNano, 0n);
  });

  it('replace their records in a batch with calls that end as usual, each twice in it', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_mixed_dead', 5n);
    await node.resolveAll();
    await node.admit(id, 'call_mixed_alive', 5n);
    const batch = ['call_mixed_dead', 'call_mixed_alive', 'call_mixed_dead', 'call_mixed_alive'];
    await endCalls(
      node.settlement,
      batch.map((callId, i) => outcomeOf(id, callId, i % 2 === 0 ? 3n : null)),
    );
    assert.deepEqual(endOf(await node.calls.find('call_mixed_dead')), SUCCEEDED_WITH(3n));
    assert.deepEqual(endOf(await node.calls.find('call_mixed_alive')), FAILED);
    assert.deepEqual(await readBalance(database, id), { balanceNano: 97n, reservedNano: 0n, spentNano: 3n });
  });

  it('free their slot on the plan, and begin when the call began, not when it was admitted', async () => {
    const id = await account(0n);
    await subscribe(database, id);
    const startedAtMs = NOW_MS - 5_000;
    const facts = factsText({ ...KNOWN, context: 'coding', startedAtMs });
    await node.admitCoding(id, 'call_coding', facts);
    const open = await node.listDead();
    assert.deepEqual(open, [{ accountId: id, callId: 'call_coding' }]);
    const [resolved] = await node.resolve(open);
    const { subscriptionId, weekNo, periodNo, tokens, amountNano, hasSlot } = resolved!;
    assert.deepEqual(
      { subscriptionId, weekNo, periodNo, tokens, amountNano, hasSlot, facts: resolved!.facts },
      { subscriptionId: `sub_${id}`, weekNo: 1, periodNo: 1, tokens: 7, amountNano: null, hasSlot: true, facts },
    );
    assert.deepEqual(await node.resolve(open), []);
    await assertSound(inOneDatabase(database));
    const state = await createSubscriptionStore(database).findState(id, NOW);
    assert.deepEqual([state!.inFlight, state!.fiveHourCalls, state!.weekCalls], [0, 0, 0]);
    const record = await node.calls.find('call_coding');
    assert.deepEqual(endOf(record), { status: 'unresolved', chargeNano: null, reservedNano: null });
    assert.deepEqual([record!.context, record!.startedAt], ['coding', new Date(startedAtMs)]);
    // Its end finds the record by this time.
    await endCalls(node.settlement, [{ ...outcomeOf(id, 'call_coding', null), context: 'coding', startedAtMs }]);
    const { items: records } = await node.calls.list({ ...NO_FILTER, accountId: id }, null, 10);
    assert.deepEqual(records.map(endOf), [FAILED]);
  });

  it('are recorded with the known facts if an older version admitted them, or their facts are unreadable', async () => {
    const id = await account(100n);
    await subscribe(database, id);
    for (const [n, facts] of ['[]', 'no JSON', '{}', 'null', '[null,7,{},[],"yes",true]'].entries()) {
      await node.admit(id, `call_bare_${n}`, 1n);
      await sql(database, 'update reservations set facts = $1 where call_id = $2', [facts, `call_bare_${n}`]);
    }
    await node.admitCoding(id, 'call_bare_coding', '[]');
    assert.equal((await node.resolveAll()).length, 6);
    const { items: records } = await node.calls.list({ ...NO_FILTER, status: 'unresolved', accountId: id }, null, 10);
    assert.deepEqual(
      records.map(({ context, provider, isStream, requestId, startedAt }) => [
        context,
        provider,
        isStream,
        requestId,
        startedAt,
      ]),
      ['coding', ...Array(5).fill('balance')].map((context) => [context, '', false, '', NOW]),
    );
  });

  it('pass the audit in every state in between', async () => {
    const id = await account(100n);
    await node.admit(id, 'call_between', 30n);
    await assertSound(inOneDatabase(database));
    await node.resolveAll();
    await assertSound(inOneDatabase(database));
    await database.script(`update calls set charge_nano = 7 where id = 'call_between'`);
    const results = await auditLedger(inOneDatabase(database));
    const broken = results.filter(({ breaches }) => breaches.length > 0).map(({ invariant }) => invariant);
    assert.deepEqual(broken, [
      'every settled call has a ledger entry with its charge',
      'unresolved calls have no charge, resolved calls are charged at most their reserved amount, and all other records have no reserved amount',
    ]);
    await database.script(`update calls set charge_nano = null where id = 'call_between'`);
  });

  async function endedWith(id: string, callId: string, chargeNano: bigint | null): Promise<CallRecord> {
    const plain = `${callId}_plain`;
    const other = await account(100n);
    await endCalls(node.settlement, [outcomeOf(other, plain, chargeNano)]);
    return { ...(await node.calls.find(plain))!, id: callId, accountId: id };
  }
});

const NO_FILTER = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };
const FAILED = { status: 'failed', chargeNano: null, reservedNano: null };
const SUCCEEDED_WITH = (chargeNano: bigint) => ({ status: 'succeeded', chargeNano, reservedNano: null });

/** A call: its account (one of two), its reservation, and the charge at its end; on a plan, if it is a coding call. */
interface Life {
  readonly account: number;
  readonly isCoding: boolean;
  readonly amountNano: bigint;
  readonly chargeNano: bigint | null;
}

/** Concurrent events. Numbers identify calls; calls in another state are skipped. */
interface Round {
  readonly admitted: readonly number[];
  /** Ends of admitted calls, including repeated ends. Each batch is a transaction. */
  readonly ended: readonly (readonly number[])[];
  readonly resolves: number;
}

const CALLS = 6;
const lives = fc.array(
  fc.record({
    account: fc.nat(1),
    isCoding: fc.boolean(),
    amountNano: fc.bigInt(0n, 20n),
    chargeNano: fc.option(fc.bigInt(0n, 20n)),
  }),
  { minLength: CALLS, maxLength: CALLS },
);
const call = fc.nat(CALLS - 1);
const rounds = fc.array(
  fc.record({
    admitted: fc.uniqueArray(call, { maxLength: CALLS }),
    ended: fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { maxLength: 3 }),
    resolves: fc.nat(2),
  }),
  { minLength: 1, maxLength: 5 },
);

let livesLived = 0;

interface Scene {
  readonly database: Database;
  /** The nodes that act in turn during a round. */
  readonly nodes: readonly TestNode[];
  readonly calls: readonly Life[];
  readonly rounds: readonly Round[];
}

/** Runs the rounds, and checks the database after each. */
async function live({ database, nodes, calls, rounds: all }: Scene): Promise<void> {
  const run = ++livesLived;
  const accountIds = [`acct_life_${run}_a`, `acct_life_${run}_b`];
  for (const id of accountIds) {
    await openAccount(database, id, 1_000n);
    await subscribe(database, id);
  }
  const node = nodes[0]!;
  const named = calls.map((life, n) => ({ ...life, accountId: accountIds[life.account]!, callId: `call_${run}_${n}` }));
  type Named = (typeof named)[number];
  const admitted = new Set<Named>();
  const ended = new Set<Named>();
  const resolved = new Set<Named>();

  const record = ({ accountId, callId, isCoding, chargeNano }: Named): SettlementRecord =>
    isCoding
      ? recordOf({ ...outcomeOf(accountId, callId, null), context: 'coding' }, { plan: { counts: true, tokens: 1 } })
      : recordOf(outcomeOf(accountId, callId, chargeNano));

  for (const round of all) {
    for (const n of round.admitted) {
      const each = named[n]!;
      if (admitted.has(each)) continue;
      await (each.isCoding
        ? node.admitCoding(each.accountId, each.callId)
        : node.admit(each.accountId, each.callId, each.amountNano));
      admitted.add(each);
    }
    const works: ((node: TestNode) => Promise<unknown>)[] = [];
    for (const numbers of round.ended) {
      const batch = numbers.map((n) => named[n]!).filter((each) => admitted.has(each));
      if (batch.length === 0) continue;
      works.push(({ settlement }) => settlement.end(batch.map(record), TIME));
      for (const each of batch) ended.add(each);
    }
    for (let n = 0; n < round.resolves; n++) {
      works.push((each) => each.resolveAll());
      for (const each of admitted) if (!ended.has(each)) resolved.add(each);
    }
    await Promise.all(works.map((work, i) => work(nodes[i % nodes.length]!)));

    await assertSound(inOneDatabase(database));
    for (const each of named) {
      const record = endOf(await node.calls.find(each.callId));
      const chargeNano = each.isCoding ? null : each.chargeNano;
      if (ended.has(each)) assert.deepEqual(record, chargeNano === null ? FAILED : SUCCEEDED_WITH(chargeNano));
      else if (resolved.has(each)) {
        const reservedNano = each.isCoding ? null : each.amountNano;
        assert.deepEqual(record, { status: 'unresolved', chargeNano: null, reservedNano });
      } else assert.equal(record, null);
    }
    for (const accountId of accountIds) {
      const mine = named.filter((each) => each.accountId === accountId && !each.isCoding);
      const charged = mine.filter((each) => ended.has(each)).reduce((sum, each) => sum + (each.chargeNano ?? 0n), 0n);
      const reserved = mine
        .filter((each) => admitted.has(each) && !ended.has(each) && !resolved.has(each))
        .reduce((sum, each) => sum + each.amountNano, 0n);
      assert.deepEqual(await readBalance(database, accountId), {
        balanceNano: 1_000n - charged,
        reservedNano: reserved,
        spentNano: charged,
      });
    }
  }
  await node.resolveAll();
}

describe('calls of dead nodes that are not dead', { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let second: Database;
  let nodes: readonly [TestNode, TestNode];
  before(async () => {
    stored = await createTestDatabase();
    second = stored.openAnother();
    nodes = [nodeOn(waitingForLocks(stored.database)), nodeOn(waitingForLocks(second))];
  });
  after(async () => {
    try {
      await assertSound(inOneDatabase(stored.database));
    } finally {
      await second.close();
      await stored.remove();
    }
  });

  /** Starts each only once the one before it waits for the account, so that all have the same snapshot and run in this order. */
  async function meetAt(accountId: string, works: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
    const results: Promise<unknown>[] = [];
    await stored.database.transaction(async (transaction) => {
      await sql(transaction, 'select from balances where account_id = $1 for update', [accountId]);
      for (const work of works) {
        results.push(work());
        await locksAwaited(stored.database, results.length);
      }
    });
    return Promise.all(results);
  }

  for (const chargeNano of [7n, null]) {
    const how = chargeNano === null ? 'without a charge' : 'with a charge';
    const expected = chargeNano === null ? FAILED : SUCCEEDED_WITH(chargeNano);

    it(`end once, ${how}, through their node or another one that declared it dead, whichever comes first`, async () => {
      for (const isEndFirst of [true, false]) {
        const [id, callId] = [`acct_meet_${how}_${isEndFirst}`, `call_meet_${how}_${isEndFirst}`];
        await openAccount(stored.database, id, 100n);
        await nodes[0].admit(id, callId, 30n);
        const open = await nodes[1].listDead();
        const end = () => endCalls(nodes[0].settlement, [outcomeOf(id, callId, chargeNano)]);
        const resolve = async () => callIdsOf(await nodes[1].resolve(open));
        const results = await meetAt(id, isEndFirst ? [end, resolve] : [resolve, end]);
        assert.deepEqual(results[isEndFirst ? 1 : 0], isEndFirst ? [] : [callId]);
        assert.deepEqual(endOf(await nodes[0].calls.find(callId)), expected);
        const charged = chargeNano ?? 0n;
        assert.deepEqual(await readBalance(stored.database, id), {
          balanceNano: 100n - charged,
          reservedNano: 0n,
          spentNano: charged,
        });
      }
    });
  }

  it('are resolved by one of two concurrent nodes', async () => {
    await openAccount(stored.database, 'acct_both', 100n);
    await nodes[0].admit('acct_both', 'call_both', 30n);
    const open = await nodes[1].listDead();
    const results = await meetAt(
      'acct_both',
      nodes.map((node) => async () => callIdsOf(await node.resolve(open))),
    );
    assert.deepEqual(results, [['call_both'], []]);
    assert.deepEqual(endOf(await nodes[0].calls.find('call_both')), {
      status: 'unresolved',
      chargeNano: null,
      reservedNano: 30n,
    });
    assert.equal((await readBalance(stored.database, 'acct_both')).reservedNano, 0n);
  });

  it('release their reservation once if their node releases one itself', async () => {
    await openAccount(stored.database, 'acct_given', 100n);
    await nodes[0].admit('acct_given', 'call_given', 30n);
    const open = await nodes[1].listDead();
    await meetAt('acct_given', [
      () => nodes[0].reservations.release([{ accountId: 'acct_given', callId: 'call_given' }], TIME),
      () => nodes[1].resolve(open),
    ]);
    assert.equal((await readBalance(stored.database, 'acct_given')).reservedNano, 0n);
    assert.deepEqual(await nodes[1].resolve(open), []);
    assert.equal(await nodes[1].calls.find('call_given'), null);
  });

  it('have the record of their end also on a plan, whichever comes first', async () => {
    for (const isEndFirst of [true, false]) {
      const [id, callId] = [`acct_plan_${isEndFirst}`, `call_plan_${isEndFirst}`];
      await openAccount(stored.database, id, 0n);
      await subscribe(stored.database, id);
      await nodes[0].admitCoding(id, callId);
      const open = await nodes[1].listDead();
      const outcome = { ...outcomeOf(id, callId, null), context: 'coding' };
      const end = () => nodes[0].settlement.end([recordOf(outcome, { plan: { counts: true, tokens: 5 } })], TIME);
      const resolve = async () => callIdsOf(await nodes[1].resolve(open));
      const results = await meetAt(id, isEndFirst ? [end, resolve] : [resolve, end]);
      assert.deepEqual(results[isEndFirst ? 1 : 0], isEndFirst ? [] : [callId]);
      assert.deepEqual(endOf(await nodes[0].calls.find(callId)), FAILED);
      // What was released stays released: the first node decides what the plan counts.
      const state = await createSubscriptionStore(stored.database).findState(id, NOW);
      const counted = isEndFirst ? { fiveHourCalls: 1, periodTokens: 5 } : { fiveHourCalls: 0, periodTokens: 0 };
      const { inFlight, fiveHourCalls, periodTokens } = state!;
      assert.deepEqual({ inFlight, fiveHourCalls, periodTokens }, { inFlight: 0, ...counted });
    }
  });

  it('lock their accounts in the order of ids, so that no two batches wait for each other', async () => {
    for (const kind of ['admit', 'end', 'resolve', 'release'] as const) {
      const calls = ['a', 'b', 'c'].map((name) => ({
        accountId: `acct_locked_${kind}_${name}`,
        callId: `call_locked_${kind}_${name}`,
      }));
      const requests = calls.map(({ accountId, callId }) => requestOf(accountId, callId, 30n));
      for (const { accountId } of calls) await openAccount(stored.database, accountId, 100n);
      if (kind !== 'admit') await nodes[0].admitAll(requests);
      const batch = calls.toReversed();
      const works = {
        admit: () => nodes[1].admitAll(requests.toReversed()),
        end: () =>
          endCalls(
            nodes[1].settlement,
            batch.map(({ accountId, callId }) => outcomeOf(accountId, callId, 3n)),
          ),
        resolve: () => nodes[1].resolve(batch),
        release: () => nodes[1].reservations.release(batch, TIME),
      };
      let work: Promise<unknown> | undefined;
      await stored.database.transaction(async (transaction) => {
        const lock = (accountId: string) =>
          sql(transaction, 'select from balances where account_id = $1 for update nowait', [accountId]);
        await lock(calls[0]!.accountId);
        work = works[kind]();
        await locksAwaited(stored.database, 1);
        // It has none of those that come after the one it waits for.
        await lock(calls[2]!.accountId);
      });
      await work;
      if (kind === 'admit') await nodes[0].reservations.release(calls, TIME);
      const records = await Promise.all(calls.map(({ callId }) => nodes[0].calls.find(callId)));
      const status = { admit: undefined, end: 'succeeded', resolve: 'unresolved', release: undefined }[kind];
      assert.deepEqual(
        records.map((record) => record?.status),
        Array(3).fill(status),
      );
    }
  });

  it('are charged at most once, and exactly if they ended with a charge, whatever happens concurrently', async () => {
    await fc.assert(
      fc.asyncProperty(lives, rounds, (calls, steps) =>
        live({ database: stored.database, nodes, calls, rounds: steps }),
      ),
      { numRuns: propertyRuns(15) },
    );
  });

  it('never deadlock batches with accounts in any order', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `acct_order_${i}`);
    for (const id of ids) {
      await openAccount(stored.database, id, 1_000n);
      await subscribe(stored.database, id);
    }
    let calls = 0;
    let charged = 0n;
    async function batch(node: TestNode, turn: number): Promise<void> {
      const order = ids.toSorted((left, right) => (left + turn).localeCompare(right + turn)).slice(turn % 7);
      if (turn % 2 === 1) order.reverse();
      const paid = order.map((id) => requestOf(id, `call_order_${calls++}`, 1n));
      const coding = order.map((id) => requestOf(id, `call_order_${calls++}`, null, ON_PLAN));
      await node.admitAll([...paid, ...coding]);
      await Promise.all([
        endCalls(
          node.settlement,
          paid.map(({ accountId, callId }) => outcomeOf(accountId, callId, 1n)),
        ),
        node.resolve(paid.toReversed()),
        node.resolve(coding.toReversed()),
        node.settlement.end(
          coding.map(({ accountId, callId }) =>
            recordOf(outcomeOf(accountId, callId, null), { plan: { counts: true, tokens: 1 } }),
          ),
          TIME,
        ),
      ]);
      charged += BigInt(paid.length);
    }
    await Promise.all(
      Array.from({ length: 6 }, async (_, pool) => {
        for (let turn = 0; turn < 8; turn++) await batch(nodes[pool % 2]!, turn + pool);
      }),
    );
    const balances = await Promise.all(ids.map((id) => readBalance(stored.database, id)));
    assert.equal(
      balances.reduce((sum, { balanceNano }) => sum + balanceNano, 0n),
      20_000n - charged,
    );
    const { items: unresolved } = await nodes[0].calls.list(
      { ...NO_FILTER, accountId: ids[0]!, status: 'unresolved' },
      null,
      10,
    );
    assert.deepEqual(unresolved, []);
  });
});
