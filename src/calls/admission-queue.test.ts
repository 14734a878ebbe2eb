import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { type AdmissionQueue, createAdmissionQueue, type QueueResult } from './admission-queue.ts';

const LIMITS = { length: 3, waitMs: 30_000 };

/** A concurrency limit, and calls that wait for it. */
class ConcurrencyLimit {
  readonly #queue: AdmissionQueue;
  free = 0;
  /** Admitted calls in order. */
  readonly through: string[] = [];
  attempts = 0;

  constructor(queue: AdmissionQueue) {
    this.#queue = queue;
  }

  wait(name: string, { limits = LIMITS, place = this.#queue.arrive() } = {}): WaitingTest {
    let leave = (): void => undefined;
    const result = this.#queue.wait('acct', limits, {
      place,
      attempt: async () => {
        this.attempts++;
        await Promise.resolve();
        if (this.free === 0) return false;
        this.free--;
        this.through.push(name);
        return true;
      },
      onGone(listener) {
        leave = listener;
      },
    });
    return { result, leave: () => leave() };
  }

  /** A call of this node ends. */
  end(): void {
    this.free++;
    this.#queue.ended('acct');
  }
}

interface WaitingTest {
  readonly result: Promise<QueueResult>;
  leave(): void;
}

/** Resolves when all settled promises have run their continuations. */
const settled = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));
const realSetImmediate = setImmediate;

describe('the admission queue', () => {
  let queue: AdmissionQueue;
  let limit: ConcurrencyLimit;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    queue = createAdmissionQueue();
    limit = new ConcurrencyLimit(queue);
  });
  afterEach(() => mock.timers.reset());

  it('admits in order of arrival, one call for each that ends', async () => {
    const waiting = ['a', 'b', 'c'].map((name) => limit.wait(name));
    await settled();
    assert.deepEqual(limit.through, []);
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      limit.end();
      await settled();
      assert.deepEqual(limit.through, expected);
    }
    assert.deepEqual(await Promise.all(waiting.map(({ result }) => result)), ['through', 'through', 'through']);
  });

  it('loses no wake-up if several calls end at once, or end during an attempt', async () => {
    for (const name of ['a', 'b', 'c']) limit.wait(name);
    await settled();
    limit.end();
    limit.end();
    await Promise.resolve();
    limit.end();
    await settled();
    assert.deepEqual(limit.through, ['a', 'b', 'c']);
  });

  it('admits at once if a call has ended since the refusal', async () => {
    limit.free = 1;
    assert.equal(await limit.wait('a').result, 'through');
  });

  it('admits by arrival, even if an earlier call was queued later because it was attempted first', async () => {
    const [first, second] = [queue.arrive(), queue.arrive()];
    limit.wait('second', { place: second });
    await settled();
    limit.wait('first', { place: first });
    await settled();
    limit.end();
    await settled();
    assert.deepEqual(limit.through, ['first']);
    limit.end();
    await settled();
    assert.deepEqual(limit.through, ['first', 'second']);
  });

  it('returns the limits of an account only while its calls wait', async () => {
    assert.equal(queue.limitsOf('acct'), null);
    const { result } = limit.wait('a');
    assert.equal(queue.limitsOf('acct'), LIMITS);
    assert.equal(queue.limitsOf('acct_other'), null);
    limit.end();
    await result;
    assert.equal(queue.limitsOf('acct'), null);
  });

  it('refuses at once if too many calls wait, and if the plan has no queue', async () => {
    for (const name of ['a', 'b', 'c']) limit.wait(name);
    assert.equal(await limit.wait('d').result, 'full');
    assert.equal(await createAdmissionQueue().wait('acct', { length: 0, waitMs: 0 }, neverLetIn), 'full');
  });

  it('stops attempts when the time is over, to the millisecond', async () => {
    const { result } = limit.wait('a');
    await settled();
    mock.timers.tick(LIMITS.waitMs - 1);
    await settled();
    assert.notEqual(queue.limitsOf('acct'), null);
    mock.timers.tick(1);
    assert.equal(await result, 'late');
    const { attempts } = limit;
    limit.end();
    mock.timers.tick(LIMITS.waitMs);
    await settled();
    assert.equal(limit.attempts, attempts);
  });

  it('attempts every half second, because calls may end on other nodes', async () => {
    const { result } = limit.wait('a');
    await settled();
    limit.free = 1;
    await settled();
    assert.deepEqual(limit.through, []);
    mock.timers.tick(500);
    assert.equal(await result, 'through');
  });

  it('continues with the next call when a client leaves, at any position', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => limit.wait(name)) as [WaitingTest, WaitingTest, WaitingTest];
    await settled();
    b.leave();
    assert.equal(await b.result, 'left');
    limit.wait('d');
    a.leave();
    assert.equal(await a.result, 'left');
    limit.end();
    assert.equal(await c.result, 'through');
    limit.end();
    await settled();
    assert.deepEqual(limit.through, ['c', 'd']);
  });

  it('continues with the next call when an attempt throws', async () => {
    const failed = queue.wait('acct', LIMITS, {
      place: queue.arrive(),
      attempt: () => Promise.reject(new Error('the database is down')),
      onGone: () => undefined,
    });
    const next = limit.wait('next');
    await assert.rejects(failed, /the database is down/);
    limit.end();
    assert.equal(await next.result, 'through');
  });

  it('ends all waiting when the node closes, and refuses calls after that', async () => {
    const waiting = ['a', 'b'].map((name) => limit.wait(name));
    await settled();
    queue.close();
    assert.deepEqual(await Promise.all(waiting.map(({ result }) => result)), ['closed', 'closed']);
    assert.equal(queue.limitsOf('acct'), null);
    assert.equal(await limit.wait('c').result, 'closed');
  });
});

const neverLetIn = { place: 0, attempt: async () => false, onGone: () => undefined };
