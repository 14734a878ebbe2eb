import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { type AdmissionQueue, createAdmissionQueue, type QueueResult } from './admission-queue.ts';

const LIMITS = { length: 3, waitMs: 30_000 };

/** A concurrency limit, and calls that wait for it. */
class Room {
  readonly #queue: AdmissionQueue;
  free = 0;
  /** The admitted calls, in their order. */
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
  let room: Room;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    queue = createAdmissionQueue();
    room = new Room(queue);
  });
  afterEach(() => mock.timers.reset());

  it('admits in order of arrival, one call for each that ends', async () => {
    const waiting = ['a', 'b', 'c'].map((name) => room.wait(name));
    await settled();
    assert.deepEqual(room.through, []);
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      room.end();
      await settled();
      assert.deepEqual(room.through, expected);
    }
    assert.deepEqual(await Promise.all(waiting.map(({ result }) => result)), ['through', 'through', 'through']);
  });

  it('loses no wake-up if several calls end at once, or end during an attempt', async () => {
    for (const name of ['a', 'b', 'c']) room.wait(name);
    await settled();
    room.end();
    room.end();
    await Promise.resolve();
    room.end();
    await settled();
    assert.deepEqual(room.through, ['a', 'b', 'c']);
  });

  it('admits at once if a call has ended since the refusal', async () => {
    room.free = 1;
    assert.equal(await room.wait('a').result, 'through');
  });

  it('admits the call that arrived first, even if it was queued later because it was attempted first', async () => {
    const [first, second] = [queue.arrive(), queue.arrive()];
    room.wait('second', { place: second });
    await settled();
    room.wait('first', { place: first });
    await settled();
    room.end();
    await settled();
    assert.deepEqual(room.through, ['first']);
    room.end();
    await settled();
    assert.deepEqual(room.through, ['first', 'second']);
  });

  it('returns the limits of an account exactly while its calls wait', async () => {
    assert.equal(queue.limitsOf('acct'), null);
    const { result } = room.wait('a');
    assert.equal(queue.limitsOf('acct'), LIMITS);
    assert.equal(queue.limitsOf('acct_other'), null);
    room.end();
    await result;
    assert.equal(queue.limitsOf('acct'), null);
  });

  it('refuses at once if too many calls wait, and if the plan has no queue', async () => {
    for (const name of ['a', 'b', 'c']) room.wait(name);
    assert.equal(await room.wait('d').result, 'full');
    assert.equal(await createAdmissionQueue().wait('acct', { length: 0, waitMs: 0 }, neverLetIn), 'full');
  });

  it('gives up when the time is over, to the millisecond, and attempts no more', async () => {
    const { result } = room.wait('a');
    await settled();
    mock.timers.tick(LIMITS.waitMs - 1);
    await settled();
    assert.notEqual(queue.limitsOf('acct'), null);
    mock.timers.tick(1);
    assert.equal(await result, 'late');
    const { attempts } = room;
    room.end();
    mock.timers.tick(LIMITS.waitMs);
    await settled();
    assert.equal(room.attempts, attempts);
  });

  it('attempts every half second, because calls may end on other nodes', async () => {
    const { result } = room.wait('a');
    await settled();
    room.free = 1;
    await settled();
    assert.deepEqual(room.through, []);
    mock.timers.tick(500);
    assert.equal(await result, 'through');
  });

  it('goes on with the next call when a client leaves, wherever it waited', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => room.wait(name)) as [WaitingTest, WaitingTest, WaitingTest];
    await settled();
    b.leave();
    assert.equal(await b.result, 'left');
    room.wait('d');
    a.leave();
    assert.equal(await a.result, 'left');
    room.end();
    assert.equal(await c.result, 'through');
    room.end();
    await settled();
    assert.deepEqual(room.through, ['c', 'd']);
  });

  it('goes on with the next call when an attempt throws', async () => {
    const failed = queue.wait('acct', LIMITS, {
      place: queue.arrive(),
      attempt: () => Promise.reject(new Error('the database is down')),
      onGone: () => undefined,
    });
    const next = room.wait('next');
    await assert.rejects(failed, /the database is down/);
    room.end();
    assert.equal(await next.result, 'through');
  });

  it('ends all waiting when the node closes, and lets no call wait after that', async () => {
    const waiting = ['a', 'b'].map((name) => room.wait(name));
    await settled();
    queue.close();
    assert.deepEqual(await Promise.all(waiting.map(({ result }) => result)), ['closed', 'closed']);
    assert.equal(queue.limitsOf('acct'), null);
    assert.equal(await room.wait('c').result, 'closed');
  });
});

const neverLetIn = { place: 0, attempt: async () => false, onGone: () => undefined };
