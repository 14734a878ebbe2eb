import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import type { BillingTime } from '../../src/accounting/pricing/running-periods.ts';
import type { AdmissionContext } from '../../src/accounting/reservations/account-state.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  CONTEXT as BALANCE_CONTEXT,
  createTestNode,
  openAccount,
  outcomeOf,
  periodsAt,
  recordOf,
  requestOf,
  type TestNode,
  timeAt,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { locksAwaited, waitingForLocks } from '../support/locks.ts';
import { chatCompletion, type ScriptedProvider } from '../support/provider.ts';
import { inFullRunsOnly, partitionsOfFile } from '../support/scope.ts';
import { handlesOf } from '../support/spread-database.ts';
import { CALL_TOKENS, CODING_CHAT, codingBody, createSubscriber, plansText } from './coding.ts';
import { onTwoNodes } from './two-nodes.ts';

/** Calls that race for the same plan: never one too many, never one too few, never too many at once. */

const CALLS = 150;
const LIMIT = 30;
const CONCURRENCY = 7;

const plans = plansText({ raced: { fiveHourCalls: LIMIT, concurrency: CONCURRENCY } });

/** Holds calls at the provider until as many are there as the limit allows, or as many as remain; then responds to them together. */
class Crowd {
  /** The most calls that were at the provider at once. */
  most = 0;
  served = 0;
  #open: (() => void)[] = [];
  #isResponding = false;

  constructor(provider: ScriptedProvider) {
    provider.respond = (_request, response) => {
      this.served++;
      this.#open.push(() => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(chatCompletion()));
      });
      this.most = Math.max(this.most, this.#open.length);
      this.#responseSoon();
    };
  }

  /** One in each turn of the event loop, so that others arrive while some are still open. */
  #responseSoon(): void {
    if (this.#isResponding || (this.#open.length < CONCURRENCY && this.served + CONCURRENCY < LIMIT)) return;
    this.#isResponding = true;
    setImmediate(() => {
      this.#isResponding = false;
      this.#open.shift()?.();
      if (this.#open.length > 0) this.#responseSoon();
    });
  }
}

/** How many retry when a call has ended: more than can be admitted, fewer than all. */
const WOKEN = 2 * CONCURRENCY;

/**
 * Sends all calls at once. Those that are refused because too many are in flight are retried when other calls have ended, as clients would
 * after a moment.
 */
async function race(urls: readonly string[], key: string): Promise<ClientResponse[]> {
  let ended = 0;
  const waiting: (() => void)[] = [];
  const one = async (url: string): Promise<ClientResponse> => {
    for (;;) {
      const endedBefore = ended;
      const response = await call(url + CODING_CHAT, key, codingBody);
      if (response.headers['x-error-code'] !== 'package_concurrency_limited') {
        ended++;
        for (const tryAgain of waiting.splice(0, WOKEN)) tryAgain();
        return response;
      }
      assert.equal(response.headers['x-should-retry'], 'true');
      if (ended === endedBefore) await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return Promise.all(Array.from({ length: CALLS }, (_, n) => one(urls[n % urls.length]!)));
}

function assertRace(responses: readonly ClientResponse[], crowd: Crowd): void {
  assert.equal(responses.filter(({ status }) => status === 200).length, LIMIT);
  const codes = new Set(responses.filter(({ status }) => status !== 200).map(({ headers }) => headers['x-error-code']));
  assert.deepEqual([...codes], ['package_5h_quota_exhausted']);
  assert.equal(crowd.served, LIMIT);
  assert.equal(crowd.most, CONCURRENCY);
}

describe(`${CALLS} coding calls at once`, { timeout: 300_000 }, () => {
  it(`are ${LIMIT} in the end if the five hours have ${LIMIT}, and never more than ${CONCURRENCY} at once`, async () => {
    const gateway = await startGateway({ plans });
    try {
      const subscriber = await createSubscriber(gateway, 'raced');
      const crowd = new Crowd(gateway.provider);
      assertRace(await race([gateway.url], subscriber.key), crowd);
      assert.deepEqual(await subscriber.used(), {
        fiveHour: LIMIT,
        weekly: LIMIT,
        inFlight: 0,
        tokens: LIMIT * CALL_TOKENS,
      });
    } finally {
      await gateway.stop();
    }
  });
});

describe(`${CALLS} coding calls at once on two processes`, { timeout: 240_000, skip: inFullRunsOnly }, () => {
  it(`are ${LIMIT} in the end, and never more than ${CONCURRENCY} at once`, () =>
    onTwoNodes(plans, 'raced', async ({ provider, urls, key }) => {
      const crowd = new Crowd(provider);
      assertRace(await race(urls, key), crowd);
    }));
});

async function breaches(database: Database): Promise<unknown[]> {
  return (await auditLedger(handlesOf(database))).flatMap((result) => result.breaches);
}

describe('batches of two nodes that meet at the same accounts', { timeout: 240_000 }, () => {
  const ACCOUNTS = 12;
  const POOLS = 8;
  const TURNS = 15;
  const NOW = new Date('2026-11-20T04:00:00Z');
  const TERMS = planOf({
    id: 'raced',
    fiveHourCalls: POOLS * TURNS * 2,
    weeklyCalls: 60,
    concurrency: 3,
    models: new Set(['m']),
  });

  let stored: TestDatabase;
  let second: Database;
  before(async () => {
    stored = await createTestDatabase(partitionsOfFile);
    second = stored.openAnother();
  });
  after(async () => {
    await second.close();
    await stored.remove();
  });

  async function subscribe(prefix: string): Promise<{ accountId: string; subscriptionId: string }[]> {
    const subscriptions = createSubscriptionStore(stored.database);
    const opened = [];
    for (let n = 0; n < ACCOUNTS; n++) {
      const [accountId, subscriptionId] = [`acct_${prefix}_${n}`, `sub_${prefix}_${n}`];
      await openAccount(stored.database, accountId, 0n);
      const endsAt = new Date(NOW.getTime() + 30 * 86_400_000);
      await subscriptions.grant({ accountId, id: subscriptionId, planId: 'raced', startsAt: NOW, endsAt, at: NOW });
      opened.push({ accountId, subscriptionId });
    }
    return opened;
  }

  type Stores = TestNode['stores'];
  const stores = (): Stores[] =>
    [stored.database, second].map((database) => createTestNode(waitingForLocks(database)).stores);

  /** The accounts in an order that differs from turn to turn. */
  function shuffled<Item extends { accountId: string }>(items: readonly Item[], turn: number): Item[] {
    const order = items.toSorted((left, right) => (left.accountId + turn).localeCompare(right.accountId + turn));
    const cut = (turn * 5) % order.length;
    const turned = [...order.slice(cut), ...order.slice(0, cut)];
    return turn % 2 === 1 ? turned.reverse() : turned;
  }

  const CONTEXT: AdmissionContext = {
    ...BALANCE_CONTEXT,
    ...periodsAt(NOW.getTime()),
    plans: new Map([['raced', TERMS]]),
  };
  const TIME: BillingTime = timeAt(CONTEXT.nowMs);
  const PLAN = { inputBytes: 1, outputTokensRequested: 1, tokens: 1, innerModels: [] };

  const request = (accountId: string, callId: string) => requestOf(accountId, callId, null, { model: 'm', plan: PLAN });

  const record = (accountId: string, callId: string, counts: boolean): SettlementRecord =>
    recordOf(
      { ...outcomeOf(accountId, callId, null), context: 'coding' },
      { plan: { counts, tokens: counts ? 5 : 0 } },
    );

  it('neither deadlock nor lose or invent a call', async () => {
    const accounts = await subscribe('batch');
    const admitted = new Map<string, number>();
    let [calls, counted, inFlightMost] = [0, 0, 0];
    const inFlight = new Map<string, number>();
    async function batch({ reservations, settlement }: Stores, turn: number): Promise<void> {
      const asked = shuffled(accounts, turn).map(({ accountId }) => request(accountId, `call_${calls++}`));
      const verdicts = await verdictsOn(reservations, asked, CONTEXT);
      const running = asked.filter((_call, i) => verdicts[i] === 'admitted');
      for (const { accountId } of running) {
        inFlight.set(accountId, (inFlight.get(accountId) ?? 0) + 1);
        inFlightMost = Math.max(inFlightMost, inFlight.get(accountId)!);
      }
      const ends = running
        .toReversed()
        .map(({ accountId, callId }, i) => ({ accountId, callId, counts: (i + turn) % 3 !== 0 }));
      for (const { accountId, counts } of ends) {
        inFlight.set(accountId, inFlight.get(accountId)! - 1);
        if (!counts) continue;
        counted++;
        admitted.set(accountId, (admitted.get(accountId) ?? 0) + 1);
      }
      // Twice, as after a lost response.
      const end = (order: typeof ends) =>
        settlement.end(
          order.map(({ accountId, callId, counts }) => record(accountId, callId, counts)),
          TIME,
        );
      await Promise.all([end(ends), end(shuffled(ends, turn + 1))]);
    }
    const nodes = stores();
    await Promise.all(
      Array.from({ length: POOLS }, async (_, pool) => {
        for (let turn = 0; turn < TURNS; turn++) await batch(nodes[pool % 2]!, turn + pool);
      }),
    );
    assert.ok(inFlightMost <= TERMS.concurrency, String(inFlightMost));
    assert.ok(counted > ACCOUNTS * 10, String(counted));
    assert.deepEqual(await breaches(stored.database), []);
    const subscriptions = createSubscriptionStore(stored.database);
    for (const { accountId } of accounts) {
      const state = await subscriptions.findState(accountId, NOW);
      const expected = admitted.get(accountId) ?? 0;
      assert.ok(expected <= TERMS.weeklyCalls);
      assert.deepEqual(
        [state!.inFlight, state!.fiveHourCalls, state!.weekCalls, state!.periodTokens],
        [0, expected, expected, 5 * expected],
      );
    }
  });

  it('take the accounts in the order of their ids if the calls of canceled subscriptions end, too', async () => {
    const [{ reservations, settlement }] = stores() as [Stores];
    const subscriptions = createSubscriptionStore(stored.database);
    const accounts = await subscribe('canceled');
    await verdictsOn(
      reservations,
      accounts.map(({ accountId }) => request(accountId, `call_${accountId}`)),
      CONTEXT,
    );
    for (const { accountId, subscriptionId } of accounts) await subscriptions.cancel(accountId, subscriptionId, NOW);

    const lock = (accountId: string) => ({
      name: 'test.lock-account',
      text: `select from balances where account_id = '${accountId}' for update nowait`,
    });
    const order = accounts.map(({ accountId }) => accountId).toSorted();
    let ended: Promise<unknown> | undefined;
    await second.transaction(async (tenant) => {
      await tenant.query(lock(order[0]!));
      const ends = accounts.map(({ accountId }) => record(accountId, `call_${accountId}`, true));
      ended = settlement.end(ends.toReversed(), TIME);
      await locksAwaited(stored.database, 1);
      // It waits at the first of them, and none of the others is locked.
      for (const accountId of order) {
        await tenant.query({ ...lock(accountId), name: `test.lock-${accountId}` });
      }
    });
    await ended;
    for (const { subscriptionId } of accounts) {
      const [state] = await stored.database.query<{ in_flight: bigint; period_tokens: bigint }>(
        { name: 'test.state', text: 'select in_flight, period_tokens from subscriptions where id = $1' },
        [subscriptionId],
      );
      assert.deepEqual(state, { in_flight: 0n, period_tokens: 5n });
    }
    assert.deepEqual(await breaches(stored.database), []);
  });
});
