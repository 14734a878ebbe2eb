import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createAccountStore } from '../../src/accounts/store.ts';
import { callToWire } from '../../src/admin/wire.ts';
import { auditLedger } from '../../src/billing/audit.ts';
import { type CallRecord, createCallsStore } from '../../src/billing/calls-store.ts';
import { type CallOutcome, type DeadHold, factsText } from '../../src/billing/call-outcome.ts';
import { type BillingStore, createBillingStore } from '../../src/billing/store.ts';
import type { Database } from '../../src/db/database.ts';
import { createKeyLimitStore } from '../../src/key-limits/store.ts';
import { createNodeStore } from '../../src/nodes/store.ts';
import { createPlanStore } from '../../src/plans/store.ts';
import { createSubscriptionStore } from '../../src/plans/subscriptions-store.ts';
import { FACTS, holdOf, KNOWN, NOW_MS, openAccount, outcomeOf, readBalance, TERMS, TODAY } from '../support/books.ts';
import { createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { locksAwaited } from '../support/locks.ts';
import { propertyRuns } from '../support/scope.ts';

/** What dead nodes left: which calls these are, what becomes of them, and what where they end after all. */

const NOW = new Date(NOW_MS);
const LATER = new Date(NOW_MS + 60_000);
const SELF = 'node_self';
const DEAD_AFTER_MS = 3_600_000;
const EVERYTHING = 10_000;
const PLAN = {
  id: 'plan_test',
  name: 'Test',
  models: new Set(['test']),
  fiveHourCalls: 1_000_000,
  weeklyCalls: 1_000_000,
  concurrency: 1_000_000,
  quotaTokens: 1_000_000_000,
  periodDays: 30,
  inputBytesMax: 1_000,
  outputTokensMax: 1_000,
  queue: { length: 0, waitMs: 0 },
};

/** The stores of a node, as far as calls in flight concern them. */
function booksOn(database: Database) {
  const billing = createBillingStore(database);
  const plans = createPlanStore(database);
  const keys = createKeyLimitStore(database);
  return {
    billing,
    plans,
    keys,
    calls: createCallsStore(database),
    nodes: createNodeStore(database),
    async admit(accountId: string, callId: string, amountNano: bigint, nodeId = TERMS.nodeId): Promise<void> {
      const [admission] = await billing.admitHolds([holdOf(accountId, callId, amountNano)], { ...TERMS, nodeId });
      assert.equal(admission!.verdict, 'admitted');
    },
    async admitCoding(accountId: string, callId: string, facts = FACTS, nodeId = TERMS.nodeId): Promise<void> {
      const call = {
        accountId,
        callId,
        keyId: 'key_test',
        model: 'test',
        inputBytes: 1,
        outputTokensRequested: 1,
        reservedTokens: 7,
        innerModels: [],
        facts,
      };
      const [verdict] = await plans.admitCalls([call], { plans: [PLAN], now: NOW, nodeId });
      assert.equal(verdict!.code, 'admitted');
    },
    /** Takes over whatever there is; the others, who say nothing, are dead. */
    async resolvePaid(): Promise<DeadHold[]> {
      return billing.resolveHolds(await billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING), LATER);
    },
    async resolveCoding(): Promise<void> {
      const calls = await plans.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
      await billing.recordUnresolved(calls, LATER);
      await plans.endCalls(calls.map(({ accountId, callId }) => ({ accountId, callId, counts: false, tokens: 0 })));
    },
  };
}

type Books = ReturnType<typeof booksOn>;

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

async function assertSound(database: Database): Promise<void> {
  const results = await auditLedger(database);
  assert.deepEqual(
    results.filter(({ breaches }) => breaches.length > 0),
    [],
  );
}

/** What tells the ends of a call apart. */
function endOf(record: CallRecord | null) {
  if (record === null) return null;
  const { status, chargeNano, heldNano } = record;
  return { status, chargeNano, heldNano };
}

for (const engine of engines) {
  describe(`calls of dead nodes on ${engine}`, { timeout: 120_000 }, () => {
    let stored: TestDatabase;
    let database: Database;
    let books: Books;
    let accounts = 0;
    before(async () => {
      stored = await createTestDatabase(engine);
      database = stored.database;
      books = booksOn(database);
    });
    after(async () => {
      try {
        await assertSound(database);
      } finally {
        await stored.remove();
      }
    });

    async function account(balanceNano: bigint): Promise<string> {
      const id = `acct_dead_${++accounts}`;
      await openAccount(database, id, balanceNano);
      return id;
    }

    it('are recorded with everything that was known at their admission, and cost nothing', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_known', 30n);
      const open = (await books.billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING)).filter(
        ({ accountId }) => accountId === id,
      );
      assert.deepEqual(open, [
        {
          accountId: id,
          callId: 'call_known',
          keyId: 'key_test',
          model: 'test',
          heldAt: NOW,
          facts: FACTS,
          amountNano: 30n,
        },
      ]);
      assert.deepEqual(await books.billing.resolveHolds(open, LATER), open);
      const record = await books.calls.find('call_known');
      assert.deepEqual(record, {
        id: 'call_known',
        accountId: id,
        keyId: 'key_test',
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
        startedAt: NOW,
        endedAt: LATER,
        firstByteMs: null,
        usageSource: null,
        inputTokens: 0n,
        cachedInputTokens: 0n,
        cacheWriteTokens: 0n,
        cacheWrite1hTokens: 0n,
        imageInputTokens: 0n,
        outputTokens: 0n,
        reasoningTokens: 0n,
        imageOutputTokens: 0n,
        images: 0n,
        searchUnits: 0n,
        priceRule: 'off_peak',
        prices: null,
        chargeNano: null,
        heldNano: 30n,
        notes: null,
      });
      const { price, chargeYuan, heldYuan, usage } = callToWire(record!);
      assert.deepEqual([price, chargeYuan, heldYuan, usage], [{ rule: 'off_peak' }, null, '0.00000003', null]);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, heldNano: 0n, spentNano: 0n });
    });

    it('are those of nodes that were not heard, never of this one nor of one that lives, and so on plans and keys', async () => {
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
      await books.keys.change(id, 'key_dead', { concurrencyMax: 10 });
      for (const node of ['alive', 'silent']) await books.nodes.beat(`node_${node}`);
      await database.script(`update nodes set seen_at = seen_at - interval '2 hours' where id = 'node_silent'`);
      for (const node of ['self', 'alive', 'silent', 'unknown']) {
        const nodeId = `node_${node}`;
        await books.admit(id, `call_paid_${node}`, 1n, nodeId);
        await books.admitCoding(id, `call_coding_${node}`, FACTS, nodeId);
        await books.keys.admitCalls(
          [{ accountId: id, keyId: 'key_dead', callId: `call_key_${node}`, amountNano: 1n }],
          {
            today: TODAY,
            now: NOW,
            nodeId,
          },
        );
      }
      const listed = async (deadAfterMs: number, limit = EVERYTHING): Promise<string[][]> => {
        const lists = [books.billing, books.plans, books.keys].map((store) =>
          store.listDeadHolds(SELF, deadAfterMs, limit),
        );
        return (await Promise.all(lists)).map((calls) => calls.map(({ callId }) => callId));
      };
      const kinds = ['paid', 'coding', 'key'];
      const of = (...nodes: string[]) => kinds.map((kind) => nodes.map((node) => `call_${kind}_${node}`));
      assert.deepEqual(await listed(DEAD_AFTER_MS), of('silent', 'unknown'));
      assert.deepEqual(await listed(DEAD_AFTER_MS, 1), of('silent'));
      assert.deepEqual(await listed(3 * DEAD_AFTER_MS), of('unknown'));
      // A node that leaves is dead at once, and one that is heard again is not.
      await books.nodes.leave('node_alive');
      await books.nodes.beat('node_silent');
      assert.deepEqual(await listed(DEAD_AFTER_MS), of('alive', 'unknown'));
      for (const node of ['self', 'silent']) await books.nodes.leave(`node_${node}`);

      const [, coding] = await Promise.all([books.resolvePaid(), books.plans.listDeadHolds('', 0, EVERYTHING)]);
      assert.equal(coding.length, 4);
      await books.billing.releaseHolds([{ accountId: id, callId: 'call_paid_self' }]);
      await books.plans.endCalls(coding.map((call) => ({ ...call, counts: false, tokens: 0 })));
      await books.keys.releaseCalls(await books.keys.listDeadHolds('', 0, EVERYTHING), TODAY);
    });

    it('are resolved once, however many nodes have found them', async () => {
      const id = await account(100n);
      for (const n of [1, 2, 3]) await books.admit(id, `call_once_${n}`, 10n);
      const open = await books.billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
      assert.deepEqual(await books.billing.resolveHolds(open.slice(0, 2), LATER), open.slice(0, 2));
      assert.deepEqual(await books.billing.resolveHolds(open, LATER), open.slice(2));
      assert.deepEqual(await books.billing.resolveHolds(open, LATER), []);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, heldNano: 0n, spentNano: 0n });
    });

    it('are not on record where their node gave their holds back itself', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_given_back', 10n);
      const open = await books.billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
      await books.billing.releaseHolds(open);
      assert.deepEqual(await books.billing.resolveHolds(open, LATER), []);
      assert.equal(await books.calls.find('call_given_back'), null);
    });

    it('are charged once where they end after all, and the record is that of their end', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_late', 30n);
      await books.resolvePaid();
      for (let n = 0; n < 2; n++) await books.billing.endCalls([outcomeOf(id, 'call_late', 20n)], TODAY);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 80n, heldNano: 0n, spentNano: 20n });
      const records = await books.calls.list({ ...NO_FILTER, accountId: id }, null, 10);
      assert.deepEqual(records, [await endedWith(id, 'call_late', 20n)]);
      // What was resolved before the end and comes only now changes nothing.
      await books.billing.recordUnresolved([holdFound(id, 'call_late')], LATER);
      assert.deepEqual(await books.calls.find('call_late'), records[0]);
    });

    it('are on record as failed where they end without a charge after all', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_late_failed', 30n);
      await books.resolvePaid();
      await books.billing.endCalls([outcomeOf(id, 'call_late_failed', null)], TODAY);
      assert.deepEqual(await books.calls.find('call_late_failed'), await endedWith(id, 'call_late_failed', null));
      assert.deepEqual(await readBalance(database, id), { balanceNano: 100n, heldNano: 0n, spentNano: 0n });
    });

    it('keep a record that says more than that nobody knows', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_final', 30n);
      await books.billing.endCalls([outcomeOf(id, 'call_final', null)], TODAY);
      const record = await books.calls.find('call_final');
      await books.billing.endCalls([{ ...outcomeOf(id, 'call_final', null), status: 'aborted' }], TODAY);
      assert.deepEqual(await books.billing.recordUnresolved([holdFound(id, 'call_final')], LATER), []);
      assert.deepEqual(await books.calls.find('call_final'), record);
    });

    it('replace their records in a batch with calls that end as usual, each twice in it', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_mixed_dead', 5n);
      await books.resolvePaid();
      await books.admit(id, 'call_mixed_alive', 5n);
      const batch = ['call_mixed_dead', 'call_mixed_alive', 'call_mixed_dead', 'call_mixed_alive'];
      await books.billing.endCalls(
        batch.map((callId, i) => outcomeOf(id, callId, i % 2 === 0 ? 3n : null)),
        TODAY,
      );
      assert.deepEqual(endOf(await books.calls.find('call_mixed_dead')), SUCCEEDED_WITH(3n));
      assert.deepEqual(endOf(await books.calls.find('call_mixed_alive')), FAILED);
      assert.deepEqual(await readBalance(database, id), { balanceNano: 97n, heldNano: 0n, spentNano: 3n });
    });

    it('have their place on the plan back, and begin when the call began, not when it was let in', async () => {
      const id = await account(0n);
      await subscribe(database, id);
      const startedAtMs = NOW_MS - 5_000;
      const facts = factsText({ ...KNOWN, context: 'coding', startedAtMs });
      await books.admitCoding(id, 'call_coding', facts);
      const [open] = await books.plans.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
      assert.deepEqual(open, {
        accountId: id,
        callId: 'call_coding',
        keyId: 'key_test',
        model: 'test',
        facts,
        heldAt: NOW,
      });
      assert.deepEqual(await books.billing.recordUnresolved([open!], LATER), [open]);
      assert.deepEqual(await books.billing.recordUnresolved([open!], LATER), []);
      await assertSound(database);
      await books.resolveCoding();
      const state = await createSubscriptionStore(database).findState(id, NOW);
      assert.deepEqual([state!.inFlight, state!.fiveHourCalls, state!.weekCalls], [0, 0, 0]);
      const record = await books.calls.find('call_coding');
      assert.deepEqual(endOf(record), { status: 'unresolved', chargeNano: null, heldNano: null });
      assert.deepEqual([record!.context, record!.startedAt], ['coding', new Date(startedAtMs)]);
      // Its end finds the record by that instant.
      await books.billing.endCalls([{ ...outcomeOf(id, 'call_coding', null), context: 'coding', startedAtMs }], TODAY);
      const records = await books.calls.list({ ...NO_FILTER, accountId: id }, null, 10);
      assert.deepEqual(records.map(endOf), [FAILED]);
    });

    it('are recorded with what is known where an older version let them in, or their facts cannot be read', async () => {
      const id = await account(100n);
      await subscribe(database, id);
      for (const [n, facts] of ['[]', 'no JSON', '{}', 'null', '[null,7,{},[],"yes",true]'].entries()) {
        await books.admit(id, `call_bare_${n}`, 1n);
        await database.query({ name: 'test.bare', text: 'update holds set facts = $1 where call_id = $2' }, [
          facts,
          `call_bare_${n}`,
        ]);
      }
      await books.admitCoding(id, 'call_bare_coding', '[]');
      assert.equal((await books.resolvePaid()).length, 5);
      await books.resolveCoding();
      const records = await books.calls.list({ ...NO_FILTER, status: 'unresolved', accountId: id }, null, 10);
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

    it('are charged at most once and exactly where they ended with a charge, whatever comes in whatever order', async () => {
      await fc.assert(
        fc.asyncProperty(lives, rounds, (calls, steps) => live({ database, nodes: [books], calls, rounds: steps })),
        { numRuns: propertyRuns(40) },
      );
    });

    it('ask for the audit’s trust in every state in between', async () => {
      const id = await account(100n);
      await books.admit(id, 'call_between', 30n);
      await assertSound(database);
      await books.resolvePaid();
      await assertSound(database);
      await database.script(`update calls set charge_nano = 7 where id = 'call_between'`);
      const results = await auditLedger(database);
      const broken = results.filter(({ breaches }) => breaches.length > 0).map(({ invariant }) => invariant);
      assert.deepEqual(broken, [
        'every settled call has its entry with its charge',
        'an unresolved call has no charge, and what it held is recorded of no other',
      ]);
      await database.script(`update calls set charge_nano = null where id = 'call_between'`);
    });

    async function endedWith(id: string, callId: string, chargeNano: bigint | null): Promise<CallRecord> {
      const plain = `${callId}_plain`;
      const other = await account(100n);
      await books.billing.endCalls([outcomeOf(other, plain, chargeNano)], TODAY);
      return { ...(await books.calls.find(plain))!, id: callId, accountId: id };
    }
  });
}

const NO_FILTER = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };
const FAILED = { status: 'failed', chargeNano: null, heldNano: null };
const SUCCEEDED_WITH = (chargeNano: bigint) => ({ status: 'succeeded', chargeNano, heldNano: null });

function holdFound(accountId: string, callId: string): DeadHold {
  return { accountId, callId, keyId: 'key_test', model: 'test', heldAt: NOW, facts: FACTS, amountNano: 30n };
}

/** A call: on which of two accounts, what it holds, and what its end charges; on a plan, where it is a coding call. */
interface Life {
  readonly account: number;
  readonly isCoding: boolean;
  readonly amountNano: bigint;
  readonly chargeNano: bigint | null;
}

/** What happens at the same time; numbers mean calls, and those that are not in that state are left out. */
interface Round {
  readonly admitted: readonly number[];
  /** Ends of calls that were admitted, also of those that ended before. Each batch is a statement. */
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
  /** What happens in a round happens on these in turn; with one of them, one after the other. */
  readonly nodes: readonly Books[];
  readonly calls: readonly Life[];
  readonly rounds: readonly Round[];
}

/** Lets calls live as the rounds say, and looks at the books after each. */
async function live({ database, nodes, calls, rounds: all }: Scene): Promise<void> {
  const run = ++livesLived;
  const accountIds = [`acct_life_${run}_a`, `acct_life_${run}_b`];
  for (const id of accountIds) {
    await openAccount(database, id, 1_000n);
    await subscribe(database, id);
  }
  const books = nodes[0]!;
  const named = calls.map((life, n) => ({ ...life, accountId: accountIds[life.account]!, callId: `call_${run}_${n}` }));
  type Named = (typeof named)[number];
  const admitted = new Set<Named>();
  const ended = new Set<Named>();
  const resolved = new Set<Named>();

  const outcome = ({ accountId, callId, isCoding, chargeNano }: Named): CallOutcome => ({
    ...outcomeOf(accountId, callId, isCoding ? null : chargeNano),
    context: isCoding ? 'coding' : 'balance',
  });

  async function end(node: Books, batch: readonly Named[]): Promise<void> {
    const coding = batch.filter(({ isCoding }) => isCoding);
    await node.plans.endCalls(coding.map(({ accountId, callId }) => ({ accountId, callId, counts: true, tokens: 1 })));
    await node.billing.endCalls(batch.map(outcome), TODAY);
  }

  for (const round of all) {
    for (const n of round.admitted) {
      const each = named[n]!;
      if (admitted.has(each)) continue;
      await (each.isCoding
        ? books.admitCoding(each.accountId, each.callId)
        : books.admit(each.accountId, each.callId, each.amountNano));
      admitted.add(each);
    }
    const works: ((node: Books) => Promise<void>)[] = [];
    for (const numbers of round.ended) {
      const batch = numbers.map((n) => named[n]!).filter((each) => admitted.has(each));
      if (batch.length === 0) continue;
      works.push((node) => end(node, batch));
      for (const each of batch) ended.add(each);
    }
    for (let n = 0; n < round.resolves; n++) {
      works.push(async (node) => {
        await node.resolvePaid();
        await node.resolveCoding();
      });
      for (const each of admitted) if (!ended.has(each)) resolved.add(each);
    }
    if (nodes.length === 1) for (const work of works) await work(books);
    else await Promise.all(works.map((work, i) => work(nodes[i % nodes.length]!)));

    await assertSound(database);
    for (const each of named) {
      const record = endOf(await books.calls.find(each.callId));
      const chargeNano = each.isCoding ? null : each.chargeNano;
      if (ended.has(each)) assert.deepEqual(record, chargeNano === null ? FAILED : SUCCEEDED_WITH(chargeNano));
      else if (resolved.has(each)) {
        const heldNano = each.isCoding ? null : each.amountNano;
        assert.deepEqual(record, { status: 'unresolved', chargeNano: null, heldNano });
      } else assert.equal(record, null);
    }
    for (const accountId of accountIds) {
      const mine = named.filter((each) => each.accountId === accountId && !each.isCoding);
      const charged = mine.filter((each) => ended.has(each)).reduce((sum, each) => sum + (each.chargeNano ?? 0n), 0n);
      const held = mine
        .filter((each) => admitted.has(each) && !ended.has(each) && !resolved.has(each))
        .reduce((sum, each) => sum + each.amountNano, 0n);
      assert.deepEqual(await readBalance(database, accountId), {
        balanceNano: 1_000n - charged,
        heldNano: held,
        spentNano: charged,
      });
    }
  }
  await books.resolvePaid();
  await books.resolveCoding();
}

describe('calls of dead nodes that are not dead, on one PostgreSQL', { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let second: Database;
  let nodes: readonly [Books, Books];
  before(async () => {
    stored = await createTestDatabase('postgresql');
    second = stored.openAnother();
    nodes = [booksOn(stored.database), booksOn(second)];
  });
  after(async () => {
    try {
      await assertSound(stored.database);
    } finally {
      await second.close();
      await stored.remove();
    }
  });

  /** Starts each only when the one before it waits for the account; so all have the same view, and go in this order. */
  async function meetAt(accountId: string, works: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
    const results: Promise<unknown>[] = [];
    await stored.database.transaction(async (transaction) => {
      await transaction.query({ name: 'test.lock', text: 'select from balances where account_id = $1 for update' }, [
        accountId,
      ]);
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

    it(`are ended once, ${how}, by their node and by another one that took it for dead, whoever comes first`, async () => {
      for (const isEndFirst of [true, false]) {
        const [id, callId] = [`acct_meet_${how}_${isEndFirst}`, `call_meet_${how}_${isEndFirst}`];
        await openAccount(stored.database, id, 100n);
        await nodes[0].admit(id, callId, 30n);
        const open = await nodes[1].billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
        const end = () => nodes[0].billing.endCalls([outcomeOf(id, callId, chargeNano)], TODAY);
        const resolve = () => nodes[1].billing.resolveHolds(open, LATER);
        const results = await meetAt(id, isEndFirst ? [end, resolve] : [resolve, end]);
        assert.deepEqual(results[isEndFirst ? 1 : 0], isEndFirst ? [] : open);
        assert.deepEqual(endOf(await nodes[0].calls.find(callId)), expected);
        const charged = chargeNano ?? 0n;
        assert.deepEqual(await readBalance(stored.database, id), {
          balanceNano: 100n - charged,
          heldNano: 0n,
          spentNano: charged,
        });
      }
    });
  }

  it('are resolved by one of two nodes that do so at once', async () => {
    await openAccount(stored.database, 'acct_both', 100n);
    await nodes[0].admit('acct_both', 'call_both', 30n);
    const open = await nodes[1].billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
    const results = await meetAt(
      'acct_both',
      nodes.map((node) => () => node.billing.resolveHolds(open, LATER)),
    );
    assert.deepEqual(results, [open, []]);
    assert.deepEqual(endOf(await nodes[0].calls.find('call_both')), {
      status: 'unresolved',
      chargeNano: null,
      heldNano: 30n,
    });
    assert.equal((await readBalance(stored.database, 'acct_both')).heldNano, 0n);
  });

  it('give their holds back once where their node gives one back itself', async () => {
    await openAccount(stored.database, 'acct_given', 100n);
    await nodes[0].admit('acct_given', 'call_given', 30n);
    const open = await nodes[1].billing.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
    await meetAt('acct_given', [
      () => nodes[0].billing.releaseHolds([{ accountId: 'acct_given', callId: 'call_given' }]),
      () => nodes[1].billing.resolveHolds(open, LATER),
    ]);
    assert.equal((await readBalance(stored.database, 'acct_given')).heldNano, 0n);
    assert.deepEqual(await nodes[1].billing.resolveHolds(open, LATER), []);
  });

  it('have the record of their end on a plan too, whoever comes first', async () => {
    for (const isEndFirst of [true, false]) {
      const [id, callId] = [`acct_plan_${isEndFirst}`, `call_plan_${isEndFirst}`];
      await openAccount(stored.database, id, 0n);
      await subscribe(stored.database, id);
      await nodes[0].admitCoding(id, callId);
      const open = await nodes[1].plans.listDeadHolds(SELF, DEAD_AFTER_MS, EVERYTHING);
      const end = (books: BillingStore) =>
        books.endCalls([{ ...outcomeOf(id, callId, null), context: 'coding' }], TODAY);
      const record = (books: BillingStore) => books.recordUnresolved(open, LATER);
      const [first, then] = isEndFirst ? [end, record] : [record, end];
      let result: Promise<unknown> | undefined;
      await stored.database.transaction(async (transaction) => {
        await first(createBillingStore(transaction));
        result = then(nodes[1].billing);
        await locksAwaited(stored.database, 1);
      });
      assert.deepEqual(await result, isEndFirst ? [] : [{ availableNano: null }]);
      assert.deepEqual(endOf(await nodes[0].calls.find(callId)), FAILED);
      await nodes[0].resolveCoding();
    }
  });

  it('are recorded in the order of their keys, so that no two batches wait for each other’s records', async () => {
    for (const kind of ['end', 'resolve', 'record']) {
      const id = `acct_order_${kind}`;
      await openAccount(stored.database, id, 100n);
      const found = ['a', 'b', 'c'].map((name) => holdFound(id, `call_order_${kind}_${name}`));
      const [first, , last] = found as [DeadHold, DeadHold, DeadHold];
      for (const { callId } of kind === 'resolve' ? found.toReversed() : []) await nodes[0].admit(id, callId, 30n);
      const batch = found.toReversed();
      let work: Promise<unknown> | undefined;
      await stored.database.transaction(async (transaction) => {
        const books = createBillingStore(transaction);
        await books.recordUnresolved([first], LATER);
        if (kind === 'resolve') work = nodes[1].billing.resolveHolds(batch, LATER);
        else if (kind === 'record') work = nodes[1].billing.recordUnresolved(batch, LATER);
        else
          work = nodes[1].billing.endCalls(
            batch.map(({ callId }) => outcomeOf(id, callId, null)),
            TODAY,
          );
        await locksAwaited(stored.database, 1);
        // It has written none of the records that come after the one it waits for.
        await books.recordUnresolved([last], LATER);
      });
      await work;
      assert.equal((await nodes[0].calls.list({ ...NO_FILTER, accountId: id }, null, 10)).length, 3);
    }
  });

  it('are charged at most once and exactly where they ended with a charge, whatever happens at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(lives, rounds, (calls, steps) =>
        live({ database: stored.database, nodes, calls, rounds: steps }),
      ),
      { numRuns: propertyRuns(40) },
    );
  });

  it('make nobody wait for ever where batches come with the accounts in any order', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `acct_order_${i}`);
    for (const id of ids) await openAccount(stored.database, id, 1_000n);
    let calls = 0;
    let charged = 0n;
    async function batch(node: Books, turn: number): Promise<void> {
      const order = ids.toSorted((left, right) => (left + turn).localeCompare(right + turn)).slice(turn % 7);
      if (turn % 2 === 1) order.reverse();
      const holds = order.map((id) => holdOf(id, `call_order_${calls++}`, 1n));
      await node.billing.admitHolds(holds, TERMS);
      const found = holds.map(({ accountId, callId }) => ({ ...holdFound(accountId, callId), amountNano: 1n }));
      const coding = order.map((id) => holdFound(id, `call_order_${calls++}`));
      const end = (them: readonly DeadHold[], chargeNano: bigint | null) =>
        node.billing.endCalls(
          them.map(({ accountId, callId }) => outcomeOf(accountId, callId, chargeNano)),
          TODAY,
        );
      await Promise.all([
        end(found, 1n),
        node.billing.resolveHolds(found.toReversed(), LATER),
        node.billing.recordUnresolved(coding.toReversed(), LATER),
        end(coding, null),
      ]);
      charged += BigInt(found.length);
    }
    await Promise.all(
      Array.from({ length: 6 }, async (_, lane) => {
        for (let turn = 0; turn < 8; turn++) await batch(nodes[lane % 2]!, turn + lane);
      }),
    );
    const balances = await Promise.all(ids.map((id) => readBalance(stored.database, id)));
    assert.equal(
      balances.reduce((sum, { balanceNano }) => sum + balanceNano, 0n),
      20_000n - charged,
    );
    const unresolved = await nodes[0].calls.list({ ...NO_FILTER, accountId: ids[0]!, status: 'unresolved' }, null, 10);
    assert.deepEqual(unresolved, []);
  });
});
