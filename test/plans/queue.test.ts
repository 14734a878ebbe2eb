import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { type StartedCall, startCall } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { partitionsOfFile } from '../support/scope.ts';
import { behind, handlesOf } from '../support/spread-database.ts';
import {
  assertRefused,
  CODING_CHAT,
  codingBody,
  createSubscriber,
  nothingInFlight,
  plansText,
  type Subscriber,
} from './coding.ts';

/** Calls that wait in the queue at a plan's concurrency limit. */

const LIMITED = 'package_concurrency_limited';

const plans = plansText({
  none: { concurrency: 1 },
  queue: { concurrency: 1, queue: { length: 3, wait: '60s' } },
  long: { concurrency: 1, queue: { length: 10, wait: '60s' } },
  hasty: { concurrency: 1, queue: { length: 3, wait: '50ms' } },
});

/** Records which calls reach the provider, by the text in them, and lets a test respond to each. */
class Served {
  readonly names: string[] = [];
  readonly #open = new Map<string, ServerResponse>();
  #listeners: (() => void)[] = [];

  constructor(gateways: readonly TestGateway[]) {
    for (const { provider } of gateways) {
      provider.respond = (request, response) => {
        const { content } = JSON.parse(request.body.toString()).messages[0];
        this.#open.set(content, response);
        this.names.push(content);
        for (const listener of this.#listeners) listener();
      };
    }
  }

  /** Resolves once so many calls have reached the provider in all. */
  count(calls: number): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.names.length >= calls) resolve();
      };
      this.#listeners.push(check);
      check();
    });
  }

  response(name: string): void {
    const response = this.#open.get(name)!;
    this.#open.delete(name);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}');
  }

  /** Ends what a failed test has left open. */
  reset(): void {
    for (const response of this.#open.values()) response.destroy();
  }
}

interface ArrivedCall extends StartedCall {
  /** Resolves once the gateway has noticed that the client has left. */
  readonly left: Promise<void>;
}

/** Starts a call and resolves once the head of its request has been received. */
async function startOn({ gateway, url }: TestGateway, { key }: Subscriber, name: string): Promise<ArrivedCall> {
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url !== CODING_CHAT) return;
    gateway.app.server.off('request', listener);
    arrived.resolve();
    response.once('close', left.resolve);
  };
  gateway.app.server.on('request', listener);
  const body = { ...codingBody, messages: [{ role: 'user', content: name }] };
  const started = startCall(url + CODING_CHAT, key, body);
  await arrived.promise;
  return { ...started, left: left.promise };
}

/** A node whose admissions are counted. */
interface Node extends TestGateway {
  /** Resolves once so many batches of admissions have been submitted in all. */
  admissions(count: number): Promise<void>;
  readonly admissionsAsked: () => number;
}

async function startNode(stored: TestDatabase, real: Database): Promise<Node> {
  let asked = 0;
  let listeners: { count: number; resolve: () => void }[] = [];
  const database = behind(real, (handle) => ({
    ...handle,
    readThenWrite(transaction) {
      if (transaction.name.includes('reservations.admit')) {
        asked++;
        for (const { count, resolve } of listeners) if (asked >= count) resolve();
        listeners = listeners.filter(({ count }) => asked < count);
      }
      return handle.readThenWrite(transaction);
    },
  }));
  const gateway = await startGateway({ stored, database, plans });
  return {
    ...gateway,
    admissionsAsked: () => asked,
    admissions: (count) =>
      asked >= count ? Promise.resolve() : new Promise((resolve) => listeners.push({ count, resolve })),
  };
}

/** Resolves once so many calls of the subscriber are queued. Polls: that a request has been received does not show how far it is. */
async function waiting({ gateway }: Node, { id }: Subscriber, count: number): Promise<void> {
  while (gateway.callsWaiting(id) !== count) await new Promise(setImmediate);
}

/**
 * Starts calls that have to wait. The first one is refused, joins the queue and is retried once; the others find it there and queue after
 * it.
 */
async function queueUp(node: Node, subscriber: Subscriber, names: readonly string[]): Promise<ArrivedCall[]> {
  const before = node.admissionsAsked();
  const queued: ArrivedCall[] = [];
  for (const name of names) {
    queued.push(await startOn(node, subscriber, name));
    await waiting(node, subscriber, queued.length);
    await node.admissions(before + 2);
  }
  return queued;
}

const statusOf = async (started: StartedCall): Promise<number> => (await started.response).status;

/** One more call is refused at once, because the queue is full. */
async function assertFull(node: Node, subscriber: Subscriber): Promise<void> {
  const refused = await (await startOn(node, subscriber, 'one too many')).response;
  assertRefused(refused, 429, LIMITED);
  assert.deepEqual([refused.headers['retry-after'], refused.headers['x-should-retry']], ['2', 'true']);
}

describe(`queued calls`, { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let gateway: Node;
  let served: Served;
  before(async () => {
    stored = await createTestDatabase();
    gateway = await startNode(stored, stored.database);
  });
  after(async () => {
    await gateway.stop();
    await stored.remove();
  });
  beforeEach(() => {
    served = new Served([gateway]);
  });
  afterEach(() => served.reset());

  it('are refused at once if the plan has no queue, and may be retried soon', async () => {
    const subscriber = await createSubscriber(gateway, 'none');
    const first = await startOn(gateway, subscriber, 'first');
    await served.count(1);
    await assertFull(gateway, subscriber);
    served.response('first');
    assert.equal(await statusOf(first), 200);
    assert.deepEqual(served.names, ['first']);
  });

  it('are admitted one by one in order of arrival', async () => {
    const subscriber = await createSubscriber(gateway, 'long');
    const calls: StartedCall[] = [await startOn(gateway, subscriber, 'first')];
    await served.count(1);
    calls.push(...(await queueUp(gateway, subscriber, ['second', 'third', 'fourth'])));
    assert.equal((await subscriber.used()).inFlight, 1);

    for (const [index, name] of ['first', 'second', 'third', 'fourth'].entries()) {
      served.response(name);
      assert.equal(await statusOf(calls[index]!), 200);
      // A call that comes now, with the limit free, queues after those that wait already.
      if (name === 'first') calls.push(await startOn(gateway, subscriber, 'fifth'));
      await served.count(index + 2);
      assert.equal((await subscriber.used()).inFlight, 1);
    }
    served.response('fifth');
    assert.deepEqual(await Promise.all(calls.map(statusOf)), [200, 200, 200, 200, 200]);
    assert.deepEqual(served.names, ['first', 'second', 'third', 'fourth', 'fifth']);
    assert.equal((await subscriber.used()).fiveHour, 5);
  });

  it('are refused when their time in the queue is over, and cost nothing', async () => {
    const subscriber = await createSubscriber(gateway, 'hasty');
    const first = await startOn(gateway, subscriber, 'first');
    await served.count(1);
    const late = await (await startOn(gateway, subscriber, 'late')).response;
    assertRefused(late, 429, LIMITED);
    assert.equal(late.headers['x-should-retry'], 'true');
    served.response('first');
    assert.equal(await statusOf(first), 200);
    const { fiveHour, weekly, inFlight } = await subscriber.used();
    assert.deepEqual([fiveHour, weekly, inFlight], [1, 1, 0]);
    assert.deepEqual(served.names, ['first']);
  });

  it('are refused for other reasons when it is their turn', async () => {
    const subscriber = await createSubscriber(gateway, 'queue');
    const first = await startOn(gateway, subscriber, 'first');
    await served.count(1);
    const queued = await queueUp(gateway, subscriber, ['second', 'third', 'fourth']);
    await gateway.admin('DELETE', `/subscriptions/${subscriber.subscriptionId}`);
    served.response('first');
    assert.equal(await statusOf(first), 200);
    for (const { response } of queued) assertRefused(await response, 402, 'insufficient_package');
    assert.deepEqual(served.names, ['first']);
    await nothingInFlight(gateway.database, subscriber.id);
  });
});

describe('calls that are queued on one of two nodes', { timeout: 60_000 }, () => {
  let stored: TestDatabase;
  let nodes: Node[];
  before(async () => {
    stored = await createTestDatabase(partitionsOfFile);
    nodes = [await startNode(stored, stored.openAnother()), await startNode(stored, stored.openAnother())];
  });
  after(async () => {
    for (const node of nodes) await node.stop();
    await stored.remove();
  });

  it('are admitted once a call on the other node has ended', async () => {
    const served = new Served(nodes);
    const [near, far] = nodes as [Node, Node];
    const subscriber = await createSubscriber(near, 'queue');
    const first = await startOn(far, subscriber, 'first');
    await served.count(1);
    const [second] = await queueUp(near, subscriber, ['second']);
    served.response('first');
    assert.equal(await statusOf(first), 200);
    await served.count(2);
    served.response('second');
    assert.equal(await statusOf(second!), 200);
    assert.deepEqual(served.names, ['first', 'second']);
  });
});

describe('a node that closes while calls are queued on it', { timeout: 60_000 }, () => {
  it('refuses them at once to be served elsewhere, and finishes what is in flight', async () => {
    const stored = await createTestDatabase(partitionsOfFile);
    const gateway = await startNode(stored, stored.openAnother());
    const served = new Served([gateway]);
    const subscriber = await createSubscriber(gateway, 'queue');
    const first = await startOn(gateway, subscriber, 'first');
    await served.count(1);
    const queued = await queueUp(gateway, subscriber, ['second', 'third', 'fourth']);

    const closed = gateway.gateway.close();
    for (const { response } of queued) {
      const sentAway = await response;
      assertRefused(sentAway, 503, 'internal_error');
      assert.deepEqual([sentAway.headers['x-should-retry'], sentAway.headers.connection], ['true', 'close']);
    }
    served.response('first');
    assert.equal(await statusOf(first), 200);
    await closed;
    await gateway.provider.close();

    const [left] = await stored.database.query<{ slots: number; reservations: number }>({
      name: 'test.left',
      text: 'select (select count(*)::int from plan_slots) as slots, (select count(*)::int from reservations) as reservations',
    });
    assert.deepEqual(left, { slots: 1, reservations: 0 });
    const audit = await auditLedger(handlesOf(stored.database));
    assert.deepEqual(
      audit.flatMap(({ breaches }) => breaches),
      [],
    );
    await stored.remove();
  });
});
