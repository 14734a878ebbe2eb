import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { createIds } from '../../src/lib/ids.ts';
import { AddressRanges, parseAddressRange } from '../../src/lib/ip-address.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { resolveByName } from '../../src/lib/outgoing/target.ts';
import { createAccountNoticeStore } from '../../src/notices/account-notice-store.ts';
import { CHANNELS, createDeliveryStore, type DeliveryStore } from '../../src/notices/delivery-store.ts';
import { createDispatcher, type Dispatcher } from '../../src/notices/dispatcher.ts';
import { createEndpointStore, type WebhookEndpoint } from '../../src/notices/endpoint-store.ts';
import type { DueNotice } from '../../src/notices/notice.ts';
import { createNoticeStore } from '../../src/notices/notice-store.ts';
import { createWebhookSender } from '../../src/notices/webhook-sender.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { locksAwaited } from '../support/locks.ts';
import { observeDatabase } from '../support/observed-database.ts';
import { type Receiver, startReceiver, status, verify } from '../support/receiver.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';
import { NO_TERMS } from './told-accounts.ts';

/** Deliveries: none is lost, none is sent twice after it was accepted, and no receiver delays another one. */

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ALL = { operators: 8, accounts: 8, mail: 8 };
const loopback = new AddressRanges([parseAddressRange('127.0.0.0/8')!]);

describe(`deliveries of notices`, { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  const ids = createIds(clock);
  let stored: TestDatabase;
  let receivers: Receiver[] = [];
  let nodes: Dispatcher[] = [];
  let count = 0;

  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored.remove());
  beforeEach(() => clock.advance(30 * 24 * HOUR_MS));
  afterEach(async () => {
    for (const node of nodes) await node.stop();
    for (const receiver of receivers) await receiver.close();
    const endpoints = createEndpointStore(stored.database);
    for (const { id } of await endpoints.list(null, null, 500)) await endpoints.delete(id);
    nodes = [];
    receivers = [];
  });

  async function receiver(): Promise<Receiver> {
    const started = await startReceiver();
    receivers.push(started);
    return started;
  }

  async function endpointAt(url: string): Promise<WebhookEndpoint> {
    const at = new Date(clock.nowMs());
    const given = {
      id: ids.next('whk'),
      accountId: null,
      url,
      form: 'faregate' as const,
      language: null,
      events: null,
      secret: SECRET,
      idempotencyKey: null,
      at,
    };
    const result = await createEndpointStore(stored.database).insert(given, 100);
    if (result.outcome !== 'made') throw new Error(result.outcome);
    return result.endpoint;
  }

  function node(store: DeliveryStore = storeOf(stored.database), graceMs = 50): Dispatcher {
    const dispatcher = createDispatcher({
      store,
      sendWebhook: createWebhookSender({ allowed: () => loopback, resolve: resolveByName }),
      sendMail: () => null,
      messageTerms: () => ({ language: 'en', consoleUrl: 'https://gateway.example' }),
      countMail: async () => 0,
      clock,
      ids,
      randomSource: () => 0,
      logger: silentLogger,
      intervalMs: 5,
      graceMs,
    });
    nodes.push(dispatcher);
    return dispatcher;
  }

  const storeOf = (database: Database): DeliveryStore => createDeliveryStore(database.pool('notices'));

  const newNotices = () => ({ atMs: clock.nowMs(), nextId: () => ids.next('ntc'), hasMail: false });

  async function notify(times = 1): Promise<void> {
    const notices = Array.from({ length: times }, (): DueNotice => {
      count++;
      return {
        kind: 'route.down',
        accountId: null,
        subject: `route ${count}`,
        dedupeKey: `route.down ${count}`,
        quietMs: 0,
        data: { model: 'm', no: count },
      };
    });
    await createNoticeStore(stored.database).add(notices, newNotices());
  }

  const deliveriesOf = ({ id }: WebhookEndpoint) => createEndpointStore(stored.database).listDeliveries(id, null, 500);
  const found = ({ id }: WebhookEndpoint) => createEndpointStore(stored.database).find(id);
  const countOf = (of: Receiver): number => of.received.length;

  it('reach each receiver once, signed', async () => {
    const [one, other] = [await receiver(), await receiver()];
    const endpoint = await endpointAt(one.url);
    await endpointAt(other.url);
    await notify(40);
    await node().settle();
    for (const each of [one, other]) {
      assert.equal(countOf(each), 40);
      assert.equal(new Set(each.received.map(({ id }) => id)).size, 40);
    }
    const payload = verifyLater(one);
    assert.equal(payload.type, 'route.down');
    assert.equal(payload.timestamp, new Date(clock.nowMs()).toISOString());
    const deliveries = await deliveriesOf(endpoint);
    assert.ok(
      deliveries.every(
        ({ status, attempts, lastStatus }) => status === 'delivered' && attempts === 1 && lastStatus === 204,
      ),
    );
  });

  /** The test's clock differs from the library's. */
  function verifyLater(of: Receiver): { type: string; timestamp: string } {
    assert.throws(() => verify(SECRET, of.received[0]!), /timestamp/);
    return of.received[0]!.body;
  }

  it('survive an hour of downtime of the receiver', async () => {
    const down = await receiver();
    const endpoint = await endpointAt(down.url);
    const dispatcher = node();
    down.respond = status(503);
    for (let minute = 0; minute < 60; minute++) {
      if (minute % 10 === 0) await notify();
      await dispatcher.settle();
      clock.advance(MINUTE_MS);
    }
    const tried = countOf(down);
    assert.ok(tried >= 10 && tried <= 60, `${tried} attempts in an hour`);
    assert.ok((await deliveriesOf(endpoint)).every(({ status }) => status === 'pending'));
    down.respond = status(200);
    down.received.length = 0;
    for (let minutes = 0; minutes < 180; minutes += 5) {
      clock.advance(5 * MINUTE_MS);
      await dispatcher.settle();
    }
    assert.equal(countOf(down), 6);
    assert.equal(new Set(down.received.map(({ id }) => id)).size, 6);
    assert.equal((await found(endpoint))!.failingSince, null);
  });

  it('are given up after three days of failures, which disables the endpoint with a reason', async () => {
    const down = await receiver();
    const endpoint = await endpointAt(down.url);
    const dispatcher = node();
    down.respond = status(500);
    await notify();
    const beganMs = clock.nowMs();
    while ((await deliveriesOf(endpoint))[0]!.status === 'pending') {
      await dispatcher.settle();
      clock.advance(30 * MINUTE_MS);
    }
    assert.ok(clock.nowMs() - beganMs >= 72 * HOUR_MS);
    assert.equal(countOf(down), 10);
    const disabled = await found(endpoint);
    assert.equal(disabled!.status, 'disabled');
    assert.match(disabled!.statusReason!, /three days/);
    await notify();
    clock.advance(HOUR_MS);
    await dispatcher.settle();
    assert.equal(countOf(down), 10);
    assert.equal((await deliveriesOf(endpoint)).length, 1);
  });

  it('stop if the receiver is gone (410); pending ones are sent after it is enabled again', async () => {
    const gone = await receiver();
    const endpoint = await endpointAt(gone.url);
    const dispatcher = node();
    gone.respond = status(410);
    await notify(3);
    await dispatcher.settle();
    assert.equal(countOf(gone), 1);
    assert.equal((await found(endpoint))!.status, 'disabled');
    clock.advance(24 * HOUR_MS);
    await dispatcher.settle();
    assert.equal(countOf(gone), 1);
    gone.respond = status(200);
    await createEndpointStore(stored.database).update(endpoint.id, { status: 'active' }, new Date(clock.nowMs()));
    await dispatcher.settle();
    assert.equal(new Set(gone.received.map(({ id }) => id)).size, 3);
    assert.ok((await deliveriesOf(endpoint)).every(({ status }) => status === 'delivered'));
  });

  it('are not delayed by another, slow receiver', async () => {
    const [slow, quick] = [await receiver(), await receiver()];
    const open: ServerResponse[] = [];
    slow.respond = (response) => void open.push(response);
    await endpointAt(slow.url);
    await endpointAt(quick.url);
    await notify(50);
    const dispatcher = node();
    dispatcher.start();
    await until(() => countOf(quick) === 50);
    // One notice at a time.
    assert.equal(countOf(slow), 1);
    assert.equal(open.length, 1);
    slow.respond = status(200);
    open[0]!.writeHead(200).end();
    await until(() => countOf(slow) === 50);
  });

  it('continue if the node that claimed them died before it sent them', async () => {
    const target = await receiver();
    const endpoint = await endpointAt(target.url);
    await notify();
    const leases = await storeOf(stored.database).claim(ALL, clock.nowMs(), 'lease_dead', clock.nowMs() + MINUTE_MS);
    assert.equal(leases.length, 1);
    const other = node();
    await other.settle();
    assert.equal(countOf(target), 0);
    clock.advance(MINUTE_MS);
    await other.settle();
    assert.equal(countOf(target), 1);
    assert.equal((await deliveriesOf(endpoint))[0]!.status, 'delivered');
  });

  it('keep the results of another node after a lease has expired', async () => {
    const target = await receiver();
    const endpoint = await endpointAt(target.url);
    await notify();
    const store = storeOf(stored.database);
    const [late] = await store.claim(ALL, clock.nowMs(), 'lease_late', clock.nowMs() + MINUTE_MS);
    const pending = await store.next(late!, clock.nowMs());
    clock.advance(MINUTE_MS);
    await node().settle();
    const failure = {
      noticeId: pending!.notice.id,
      status: 'pending' as const,
      nextAttemptAtMs: clock.nowMs(),
      lastStatus: null,
      lastError: 'late',
      atMs: clock.nowMs(),
      leasedUntilMs: clock.nowMs(),
      restsUntilMs: null,
      goneReason: null,
      failingLimit: { sinceMs: 0, reason: '' },
    };
    assert.equal(await store.record(late!, failure), false);
    await store.release(late!, clock.nowMs(), 0, () => 0);
    const [delivery] = await deliveriesOf(endpoint);
    assert.deepEqual([delivery!.status, delivery!.attempts, delivery!.lastError], ['delivered', 1, null]);
  });

  it('stop with the node in time, and continue on another one', async () => {
    const target = await receiver();
    const endpoint = await endpointAt(target.url);
    target.respond = () => undefined;
    await notify();
    const stopped = node();
    stopped.start();
    await until(() => countOf(target) === 1);
    await stopped.stop();
    assert.equal((await deliveriesOf(endpoint))[0]!.attempts, 0);
    target.respond = status(200);
    await node().settle();
    assert.equal(countOf(target), 2);
    assert.equal(target.received[0]!.id, target.received[1]!.id);
  });

  it('are not sent to a deleted receiver', async () => {
    const target = await receiver();
    const endpoint = await endpointAt(target.url);
    await notify(2);
    await createEndpointStore(stored.database).delete(endpoint.id);
    await node().settle();
    assert.equal(countOf(target), 0);
  });

  it('leave a slow receiver for others after some seconds, and continue later', async () => {
    const slow = await receiver();
    slow.respond = (response) => {
      clock.advance(4_000);
      status(204)(response, response.req);
    };
    await endpointAt(slow.url);
    await notify(6);
    const turns: number[] = [];
    const store = storeOf(stored.database);
    const counted: DeliveryStore = {
      ...store,
      release: (...given) => {
        turns.push(countOf(slow));
        return store.release(...given);
      },
    };
    const sending = node(counted);
    while (countOf(slow) < 6) await sending.settle();
    assert.deepEqual(turns, [2, 4, 6]);
  });

  it('are found for a thousand accounts at a time, however the queue’s rows group them', async () => {
    const queue = (text: string) => sql(stored.database, text);
    await queue(`insert into account_changes select array['acct_' || n] from generate_series(1, 600) n`);
    await queue(`insert into account_changes
select array(select 'acct_' || row || '_' || n from generate_series(1, 600) n) from generate_series(1, 3) row`);
    const left: number[] = [];
    const { noticeChanges } = createAccountNoticeStore(stored.database);
    while ((await noticeChanges(NO_TERMS, newNotices())) === 'more') {
      left.push((await queue('select from account_changes')).length);
    }
    assert.deepEqual(left, [103, 1, 0]);
  });

  it('find nothing to do if nothing is due', async () => {
    const nowMs = clock.nowMs();
    assert.deepEqual(await storeOf(stored.database).claim(ALL, nowMs, 'lease_none', nowMs), []);
    assert.deepEqual(CHANNELS, ['operators', 'accounts', 'mail']);
  });

  it('are shared by two nodes, and each is sent once', async () => {
    const targets = await Promise.all(Array.from({ length: 6 }, receiver));
    for (const { url } of targets) await endpointAt(url);
    const another = stored.openAnother();
    try {
      const two = [node(), node(storeOf(another))];
      for (const each of two) each.start();
      for (let round = 0; round < 5; round++) await notify(10);
      await until(() => targets.every((target) => countOf(target) >= 50));
      for (const each of two) await each.stop();
      for (const { received } of targets) {
        assert.equal(received.length, 50);
        assert.equal(new Set(received.map(({ id }) => id)).size, 50);
      }
    } finally {
      await another.close();
    }
  });

  it('are recorded while their endpoint is being disabled or deleted', async () => {
    const observed = observeDatabase(stored.database);
    const another = stored.openAnother();
    try {
      const endpoints = createEndpointStore(another.pool('admin'));
      for (const change of ['disable', 'delete'] as const) {
        const { id } = await endpointAt('http://127.0.0.1:9/hook');
        await notify();
        const store = storeOf(observed.database);
        const nowMs = clock.nowMs();
        const [lease] = await store.claim(ALL, nowMs, `lease_${change}`, nowMs + MINUTE_MS);
        const pending = await store.next(lease!, nowMs);
        const statement = observed.statement('deliveries.endpoint-failed');
        statement.hold();
        const reached = statement.reached(statement.asked + 1);
        const recording = store.record(lease!, {
          noticeId: pending!.notice.id,
          status: 'pending',
          nextAttemptAtMs: nowMs + HOUR_MS,
          lastStatus: 500,
          lastError: null,
          atMs: nowMs,
          leasedUntilMs: nowMs + MINUTE_MS,
          restsUntilMs: null,
          goneReason: null,
          failingLimit: { sinceMs: 0, reason: '' },
        });
        await reached;
        const changing =
          change === 'disable' ? endpoints.update(id, { status: 'disabled' }, new Date(nowMs)) : endpoints.delete(id);
        await locksAwaited(another, 1);
        statement.release();
        // Locking the endpoint first would cause a deadlock.
        const results = await Promise.allSettled([recording, changing]);
        assert.deepEqual(
          results.map(({ status }) => status),
          ['fulfilled', 'fulfilled'],
          change,
        );
      }
    } finally {
      await another.close();
    }
  });

  it('about one problem seen by two nodes are sent once', async () => {
    const another = stored.openAnother();
    try {
      const seen = (database: Database, nodeId: string) =>
        createNoticeStore(database).add(
          [
            {
              kind: 'route.down',
              accountId: null,
              subject: 'shared',
              dedupeKey: `route.down shared ${nodeId}`,
              quietMs: HOUR_MS,
              data: {},
            },
          ],
          { atMs: clock.nowMs(), nextId: () => ids.next('ntc'), hasMail: false },
        );
      const target = await receiver();
      await endpointAt(target.url);
      await Promise.all([seen(stored.database, 'node_1'), seen(another, 'node_2')]);
      clock.advance(HOUR_MS);
      await seen(another, 'node_3');
      await node().settle();
      assert.equal(countOf(target), 2);
    } finally {
      await another.close();
    }
  });
});
