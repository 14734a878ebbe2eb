import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createRefundStore, type RefundRequest } from '../../src/accounting/corrections/refund-store.ts';
import type { Resolution } from '../../src/accounting/corrections/resolution.ts';
import { createResolutionStore, type ResolutionRequest } from '../../src/accounting/corrections/resolution-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import { factsText } from '../../src/accounting/reservations/reservation.ts';
import { callCorrectionEndpoints } from '../../src/api/calls/corrections.ts';
import type { Database } from '../../src/db/database.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT,
  endCalls,
  KNOWN,
  NOW_MS,
  openAccount,
  outcomeOf,
  periodsOf,
  readBalance,
  recordOf,
  requestOf,
  TIME,
  TODAY,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestReservationStore, createTestSettlementStore } from '../support/call-stores.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { waitingForLocks } from '../support/locks.ts';
import { propertyRuns } from '../support/scope.ts';
import { allRows, exported, imported } from '../transfer/books.ts';

/** Resolutions and refunds in the database, alone and in races with each other and with late ends. */

const NOW = new Date(NOW_MS);
const PLAN = planOf({ id: 'plan_test', fiveHourCalls: 100, weeklyCalls: 100, concurrency: 100, quotaTokens: 1_000 });
const CODING_FACTS = factsText({ ...KNOWN, context: 'coding' });
const release: Resolution = { action: 'release' };
const charge = (chargeNano: bigint): Resolution => ({ action: 'charge', chargeNano });

describe(`corrections of calls`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let stores: ReturnType<typeof storesOn>;
  let named = 0;
  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    stores = storesOn(waitingForLocks(database));
  });
  after(async () => {
    try {
      await assertSound();
    } finally {
      await stored.remove();
    }
  });

  const storesOn = (on: Database) => ({
    calls: createCallsStore(on),
    ledger: createLedgerStore(on),
    refunds: createRefundStore(on),
    reservations: createTestReservationStore(on),
    resolutions: createResolutionStore(on),
    settlement: createTestSettlementStore(on),
    subscriptions: createSubscriptionStore(on),
  });

  async function assertSound(): Promise<void> {
    const results = await auditLedger(inOneDatabase(database));
    assert.deepEqual(
      results.filter(({ breaches }) => breaches.length > 0),
      [],
    );
  }

  const newName = () => `${++named}`.padStart(4, '0');

  /** An account with a call whose node died, and the reserved amount of the call. */
  async function unresolvedCall(balanceNano: bigint, reservedNano: bigint) {
    const name = newName();
    const call = { accountId: `acct_${name}`, callId: `call_${name}` };
    await openAccount(database, call.accountId, balanceNano);
    const requests = [requestOf(call.accountId, call.callId, reservedNano)];
    assert.deepEqual(await verdictsOn(stores.reservations, requests), ['admitted']);
    assert.equal((await stores.settlement.resolve([call], TIME)).length, 1);
    return call;
  }

  async function codingCall() {
    const name = newName();
    const call = { accountId: `acct_${name}`, callId: `call_${name}` };
    await openAccount(database, call.accountId, 0n);
    await stores.subscriptions.grant({
      accountId: call.accountId,
      id: `sub_${name}`,
      planId: PLAN.id,
      startsAt: NOW,
      endsAt: new Date(NOW_MS + 86_400_000),
      at: NOW,
    });
    const plan = { inputBytes: 1, outputTokensRequested: 1, tokens: 70, innerModels: [] };
    const context = { ...CONTEXT, plans: new Map([[PLAN.id, PLAN]]) };
    await verdictsOn(
      stores.reservations,
      [requestOf(call.accountId, call.callId, null, { plan, facts: CODING_FACTS })],
      context,
    );
    await stores.settlement.resolve([call], TIME);
    return call;
  }

  const resolve = (callId: string, resolution: Resolution, parts: Partial<ResolutionRequest> = {}) =>
    stores.resolutions.resolve({
      callId,
      resolution,
      by: 'erin',
      via: 'command_line',
      memo: null,
      idempotencyKey: null,
      periods: periodsOf(TODAY),
      ...parts,
    });
  const outcomeOfResolve = async (...given: Parameters<typeof resolve>): Promise<string> => {
    const result = await resolve(...given);
    return result.outcome === 'refused' ? result.refusal : result.outcome;
  };
  const refund = (callId: string, amountNano: bigint | null, parts: Partial<RefundRequest> = {}) =>
    stores.refunds.refund({ callId, amountNano, memo: null, idempotencyKey: null, at: NOW, ...parts });
  const outcomeOfRefund = async (...given: Parameters<typeof refund>): Promise<string> => {
    const result = await refund(...given);
    return result.outcome === 'refused' ? result.refusal : result.outcome;
  };
  const kindsOf = async (accountId: string) =>
    (await stores.ledger.listEntries(accountId, null, 50)).items
      .map(({ kind, amountNano, callId }) => [kind, amountNano, callId])
      .toReversed();

  it('charge an unresolved call once, with an entry, and record the operator', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    assert.equal(await outcomeOfResolve(callId, charge(31n)), 'charge_above_reserved');
    assert.equal(await outcomeOfResolve(callId, charge(30n), { memo: 'it ran', idempotencyKey: 'k1' }), 'resolved');
    assert.equal(await outcomeOfResolve(callId, charge(30n), { idempotencyKey: 'k1' }), 'repeated');
    assert.equal(await outcomeOfResolve(callId, charge(30n), { idempotencyKey: 'k2' }), 'repeated');
    for (const other of [charge(29n), release]) {
      assert.equal(await outcomeOfResolve(callId, other, { idempotencyKey: 'k3' }), 'resolved_otherwise');
    }
    assert.deepEqual(await readBalance(database, accountId), { balanceNano: 70n, reservedNano: 0n, spentNano: 30n });
    assert.deepEqual(await kindsOf(accountId), [
      ['top_up', 100n, null],
      ['charge', -30n, callId],
    ]);
    const record = (await stores.calls.find(callId))!;
    assert.deepEqual([record.status, record.chargeNano, record.reservedNano], ['resolved', 30n, 30n]);
    const resolution = { action: 'charge', by: 'erin', via: 'command_line', memo: 'it ran', at: NOW.toISOString() };
    assert.deepEqual(record.notes, { resolution });
  });

  it('count in the spending of the day of the entry, by the clock of the database', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    // The last millisecond of a day of Shanghai; the clock of this machine is years away.
    const atMs = Date.UTC(2026, 11, 31, 15, 59, 59, 999);
    const endpoints = callCorrectionEndpoints({
      ...stores,
      accounts: createAccountStore(database),
      clock: { nowMs: () => Date.UTC(2036, 0, 1) },
      databaseNowMs: async () => atMs,
      localTime: () => createLocalTime('Asia/Shanghai'),
    });
    const resolve = endpoints.find(({ path }) => path.endsWith('/resolution'))!;
    const body = { action: 'charge', chargeYuan: '0.00000003' };
    const input = resolve.check({ id: callId, body, query: {}, idempotencyKey: null, wantsCsv: false });
    await resolve.run(input, { actor: { kind: 'command_line' } });
    const [spent] = await database.query<{ day_began_at: Date; spent_nano: bigint; created_at: Date }>(
      {
        name: 'test.spent',
        text: `select b.day_began_at, b.spent_nano, e.created_at from balances b
join ledger_entries e using (account_id) where b.account_id = $1 and e.kind = 'charge'`,
      },
      [accountId],
    );
    assert.deepEqual(spent, {
      day_began_at: new Date('2026-12-30T16:00Z'),
      spent_nano: 30n,
      created_at: new Date(atMs),
    });
  });

  it('release an unresolved call without an entry, so that lists no longer have it as unresolved', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    const unresolved = { accountId, keyId: null, model: null, status: 'unresolved', from: null, to: null };
    assert.equal((await stores.calls.list(unresolved, null, 10)).items.length, 1);
    assert.equal(await outcomeOfResolve(callId, release), 'resolved');
    assert.equal(await outcomeOfResolve(callId, release), 'repeated');
    assert.deepEqual((await stores.calls.list(unresolved, null, 10)).items, []);
    const { items: resolved } = await stores.calls.list({ ...unresolved, status: 'resolved' }, null, 10);
    assert.deepEqual(
      resolved.map(({ id, chargeNano }) => [id, chargeNano]),
      [[callId, null]],
    );
    assert.deepEqual(await readBalance(database, accountId), { balanceNano: 100n, reservedNano: 0n, spentNano: 0n });
  });

  it('keep a resolution when the end of the call comes late', async () => {
    for (const [resolution, leftNano] of [
      [charge(10n), 90n],
      [release, 100n],
    ] as const) {
      for (const endNano of [25n, null]) {
        const { accountId, callId } = await unresolvedCall(100n, 30n);
        assert.equal(await outcomeOfResolve(callId, resolution), 'resolved');
        const record = await stores.calls.find(callId);
        const [end] = await endCalls(stores.settlement, [outcomeOf(accountId, callId, endNano)]);
        assert.deepEqual(end, { availableNano: leftNano });
        assert.deepEqual(await stores.calls.find(callId), record);
        assert.equal((await readBalance(database, accountId)).balanceNano, leftNano);
      }
    }
  });

  it('do not change a call whose own end came first', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    await endCalls(stores.settlement, [outcomeOf(accountId, callId, 25n)]);
    for (const resolution of [charge(25n), charge(5n), release]) {
      assert.equal(await outcomeOfResolve(callId, resolution), 'ended');
    }
    assert.equal((await readBalance(database, accountId)).balanceNano, 75n);
  });

  it('distinguish a call in flight from an unknown one', async () => {
    const name = newName();
    await openAccount(database, `acct_${name}`, 100n);
    await verdictsOn(stores.reservations, [requestOf(`acct_${name}`, `call_${name}`, 1n)]);
    assert.equal(await outcomeOfResolve(`call_${name}`, release), 'in_flight');
    assert.equal(await outcomeOfResolve('call_unknown', release), 'unknown_call');
    await endCalls(stores.settlement, [outcomeOf(`acct_${name}`, `call_${name}`, null)]);
  });

  it('find a call that ends during the search', async () => {
    const name = newName();
    const call = { accountId: `acct_${name}`, callId: `call_${name}` };
    await openAccount(database, call.accountId, 100n);
    await verdictsOn(stores.reservations, [requestOf(call.accountId, call.callId, 1n)]);
    let hasEnded = false;
    const record = createResolutionStore({
      ...database,
      transaction: (work) => database.transaction(work),
      async query<Row>(...asked: Parameters<Database['query']>): Promise<Row[]> {
        const rows = await database.query<Row>(...asked);
        if (!hasEnded) await endCalls(stores.settlement, [outcomeOf(call.accountId, call.callId, 1n)]);
        hasEnded = true;
        return rows;
      },
    });
    const request = { callId: call.callId, resolution: release, by: null, via: 'command_line', memo: null } as const;
    const result = await record.resolve({ ...request, idempotencyKey: null, periods: periodsOf(TODAY) });
    assert.equal(result.outcome === 'refused' ? result.refusal : result.outcome, 'ended');
  });

  it('count tokens of a call on a plan in the period of its admission', async () => {
    const { accountId, callId } = await codingCall();
    const tokens = async () => (await stores.subscriptions.findState(accountId, NOW))!.periodTokens;
    assert.equal(await outcomeOfResolve(callId, charge(0n)), 'charge_on_plan');
    assert.equal(await outcomeOfResolve(callId, { action: 'count', tokens: 71 }), 'tokens_above_reserved');
    assert.equal(await outcomeOfResolve(callId, { action: 'count', tokens: 50 }), 'resolved');
    assert.equal(await outcomeOfResolve(callId, { action: 'count', tokens: 50 }), 'repeated');
    assert.equal(await tokens(), 50);
    const late = recordOf({ ...outcomeOf(accountId, callId, null), context: 'coding' });
    await stores.settlement.end([{ ...late, plan: { counts: true, tokens: 60 } }], TIME);
    assert.equal(await tokens(), 50);
    assert.equal((await stores.calls.find(callId))!.status, 'resolved');

    const next = await codingCall();
    await database.script(`update subscriptions set period_no = period_no + 1 where account_id = '${next.accountId}'`);
    assert.equal(await outcomeOfResolve(next.callId, { action: 'count', tokens: 50 }), 'resolved');
    assert.equal((await stores.subscriptions.findState(next.accountId, NOW))!.periodTokens, 0);
  });

  it('use an idempotency key for only one entry of the account', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    const topUp = { kind: 'top_up', amountNano: 5n, memo: null, idempotencyKey: 'once', at: NOW } as const;
    await stores.ledger.post({ accountId, ...topUp });
    assert.equal(await outcomeOfResolve(callId, charge(10n), { idempotencyKey: 'once' }), 'key_conflict');
    assert.equal((await stores.calls.find(callId))!.status, 'unresolved');
    assert.equal(await outcomeOfResolve(callId, charge(10n), { idempotencyKey: 'other' }), 'resolved');
    assert.equal(await outcomeOfRefund(callId, 5n, { idempotencyKey: 'other' }), 'key_conflict');
    assert.equal(await outcomeOfRefund(callId, 5n, { idempotencyKey: 'once' }), 'key_conflict');
  });

  it('refund a charge in parts, up to its amount', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    assert.equal(await outcomeOfRefund(callId, 1n), 'not_charged');
    await resolve(callId, charge(30n));
    assert.equal(await outcomeOfRefund(callId, 31n), 'above_charge');
    assert.equal(await outcomeOfRefund(callId, 10n, { memo: 'half of it', idempotencyKey: 'r1' }), 'refunded');
    assert.equal(await outcomeOfRefund(callId, 10n, { memo: 'half of it', idempotencyKey: 'r1' }), 'repeated');
    assert.equal(await outcomeOfRefund(callId, 10n, { memo: 'another', idempotencyKey: 'r1' }), 'key_conflict');
    assert.equal(await outcomeOfRefund(callId, 9n, { memo: 'half of it', idempotencyKey: 'r1' }), 'key_conflict');
    // That key has refunded less than the whole charge.
    assert.equal(await outcomeOfRefund(callId, null, { memo: 'half of it', idempotencyKey: 'r1' }), 'key_conflict');
    assert.equal(await outcomeOfRefund(callId, 21n), 'above_charge');
    assert.equal(await outcomeOfRefund(callId, null, { idempotencyKey: 'r2' }), 'refunded');
    assert.equal(await outcomeOfRefund(callId, null, { idempotencyKey: 'r2' }), 'repeated');
    assert.equal(await outcomeOfRefund(callId, 20n, { idempotencyKey: 'r2' }), 'repeated');
    assert.equal(await outcomeOfRefund(callId, null, { memo: 'half of it', idempotencyKey: 'r1' }), 'key_conflict');
    assert.equal(await outcomeOfRefund(callId, null), 'refunded_already');
    assert.equal(await outcomeOfRefund(callId, 1n), 'refunded_already');
    assert.equal(await outcomeOfRefund('call_unknown', 1n), 'unknown_call');
    assert.deepEqual(await kindsOf(accountId), [
      ['top_up', 100n, null],
      ['charge', -30n, callId],
      ['refund', 10n, callId],
      ['refund', 20n, callId],
    ]);
    // The spending of the day stays: a refund does not extend the daily cap.
    assert.deepEqual(await readBalance(database, accountId), { balanceNano: 100n, reservedNano: 0n, spentNano: 30n });
    const call = { accountId, id: callId };
    const refunds = (await stores.refunds.refundsOf([call, { accountId, id: 'call_other' }])).get(callId)!;
    assert.deepEqual(
      refunds.map(({ entryNo, amountNano, memo }) => [entryNo, amountNano, memo]),
      [
        [3n, 10n, 'half of it'],
        [4n, 20n, null],
      ],
    );
    assert.deepEqual(await stores.refunds.refundsOf([]), new Map());
  });

  it('do not refund a free call', async () => {
    const { callId } = await unresolvedCall(100n, 30n);
    await resolve(callId, charge(0n));
    assert.equal(await outcomeOfRefund(callId, 1n), 'not_charged');
  });

  it('survive an export and an import', async () => {
    const { callId } = await unresolvedCall(100n, 30n);
    await resolve(callId, charge(30n));
    await refund(callId, 10n);
    const other = await createTestDatabase();
    try {
      await imported(other.database, await exported(database));
      assert.deepEqual(await allRows(other.database), await allRows(database));
      const copy = storesOn(other.database);
      const record = (await copy.calls.find(callId))!;
      assert.equal(record.status, 'resolved');
      const [refunded] = (await copy.refunds.refundsOf([record])).get(callId)!;
      assert.equal(refunded!.amountNano, 10n);
    } finally {
      await other.remove();
    }
  });

  it('are found by the audit if they break an invariant', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    await resolve(callId, charge(30n));
    await refund(callId, 10n);
    const broken = async (): Promise<string[]> =>
      (await auditLedger(inOneDatabase(database))).flatMap(({ invariant, breaches }) =>
        breaches.map((breach) => `${breach.accountId} ${invariant}: ${breach.detail}`),
      );
    const REFUNDS = 'every refund belongs to a charged call of the same account, and refunds never exceed its charge';
    const RESOLVED =
      'unresolved calls have no charge, resolved calls are charged at most their reserved amount, and all other records have no reserved amount';
    await database.script(`update calls set reserved_nano = 29 where id = '${callId}'`);
    assert.deepEqual(await broken(), [`${accountId} ${RESOLVED}: call ${callId}`]);
    await database.script(`update calls set reserved_nano = 30 where id = '${callId}'`);
    await database.script(`alter table ledger_entries disable trigger ledger_is_immutable`);
    const entry = `where account_id = '${accountId}' and kind = 'refund'`;
    for (const [sql, detail] of [
      [`amount_nano = 31, balance_after_nano = 101`, `call ${callId} refunded 31, charge 30`],
      [`amount_nano = -1, balance_after_nano = 69`, `call ${callId} refunded -1, charge 30`],
      [
        `amount_nano = 10, balance_after_nano = 80, call_id = 'call_of_nobody'`,
        'call call_of_nobody refunded 10, charge 0',
      ],
    ] as const) {
      await database.script(`update ledger_entries set ${sql} ${entry}`);
      assert.ok((await broken()).includes(`${accountId} ${REFUNDS}: ${detail}`), detail);
    }
    await database.script(
      `update ledger_entries set amount_nano = 10, balance_after_nano = 80, call_id = '${callId}' ${entry}`,
    );
    await database.script(`alter table ledger_entries enable trigger ledger_is_immutable`);
    await assertSound();
  });

  it('are exact in all races', async () => {
    const amount = fc.bigInt(0n, 12n);
    const step = fc.oneof(
      fc.record({ kind: fc.constant('charge' as const), amount }),
      fc.record({ kind: fc.constant('release' as const), amount: fc.constant(0n) }),
      fc.record({ kind: fc.constant('end' as const), amount }),
      fc.record({ kind: fc.constant('refund' as const), amount: fc.bigInt(1n, 12n) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 3 }), async (rounds) => {
        const { accountId, callId } = await unresolvedCall(100n, 10n);
        let done = 0;
        for (const round of rounds) {
          const outcomes = await Promise.all(
            round.map(async ({ kind, amount: asked }): Promise<readonly [string, string, bigint]> => {
              if (kind === 'charge') return [kind, await outcomeOfResolve(callId, charge(asked)), asked];
              if (kind === 'release') return [kind, await outcomeOfResolve(callId, release), asked];
              if (kind === 'refund') return [kind, await outcomeOfRefund(callId, asked), asked];
              await endCalls(stores.settlement, [outcomeOf(accountId, callId, asked)]);
              return [kind, 'end', asked];
            }),
          );
          done += outcomes.filter(([, outcome]) => outcome === 'resolved').length;
        }
        const record = (await stores.calls.find(callId))!;
        const entries = await kindsOf(accountId);
        const charges = entries.filter(([kind]) => kind === 'charge');
        const refunds = entries.filter(([kind]) => kind === 'refund');
        const sum = (of: typeof entries): bigint => of.reduce((total, [, nano]) => total + (nano as bigint), 0n);
        assert.ok(done <= 1);
        assert.equal(record.status === 'resolved', done === 1);
        assert.deepEqual(
          charges.map(([, nano]) => nano),
          record.chargeNano === null ? [] : [-record.chargeNano],
        );
        assert.ok(sum(refunds) <= (record.chargeNano ?? 0n));
        assert.equal((await readBalance(database, accountId)).balanceNano, 100n + sum(charges) + sum(refunds));
      }),
      { numRuns: propertyRuns(100) },
    );
    await assertSound();
  });

  it('never return more than the charge in races of refunds', async () => {
    const { accountId, callId } = await unresolvedCall(100n, 30n);
    await resolve(callId, charge(30n));
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOfRefund(callId, 7n)));
    assert.equal(outcomes.filter((outcome) => outcome === 'refunded').length, 4);
    assert.equal(outcomes.filter((outcome) => outcome === 'above_charge').length, 4);
    const keyed = await Promise.all(
      Array.from({ length: 4 }, () => outcomeOfRefund(callId, 2n, { idempotencyKey: 'last' })),
    );
    assert.deepEqual(keyed.toSorted(), ['refunded', 'repeated', 'repeated', 'repeated']);
    assert.equal((await readBalance(database, accountId)).balanceNano, 100n);
  });
});
