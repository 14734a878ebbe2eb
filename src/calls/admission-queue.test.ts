import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { type AdmissionQueue, createAdmissionQueue, type QueueResult } from './admission-queue.ts';

const LIMITS = { length: 3, waitMs: 30_000 };

/** A limit that calls take and give back, and calls that wait for it. */
class Room {
  readonly #turns: AdmissionQueue;
  free = 0;
  /** In the order in which they got in. */
  readonly through: string[] = [];
  attempts = 0;

  constructor(turns: AdmissionQueue) {
    this.#turns = turns;
  }

  wait(name: string, { limits = LIMITS, place = this.#turns.arrive() } = {}): WaitingTest {
    let leave = (): void => undefined;
    const result = this.#turns.wait('acct', limits, {
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
    this.#turns.ended('acct');
  }
}

interface WaitingTest {
  readonly result: Promise<QueueResult>;
  leave(): void;
}

/** Lets everything happen that only waits for promises. */
const settled = (): Promise<void> => new Promise((resolve) => realSetImmediate(resolve));
const realSetImmediate = setImmediate;

describe('turns', () => {
  let turns: AdmissionQueue;
  let room: Room;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    turns = createAdmissionQueue();
    room = new Room(turns);
  });
  afterEach(() => mock.timers.reset());

  it('come in order of arrival, one for each call that ends', async () => {
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

  it('are not lost where several calls end at once, or while somebody asks', async () => {
    for (const name of ['a', 'b', 'c']) room.wait(name);
    await settled();
    room.end();
    room.end();
    await Promise.resolve();
    room.end();
    await settled();
    assert.deepEqual(room.through, ['a', 'b', 'c']);
  });

  it('are seen at once where the call that was waited for has ended already', async () => {
    room.free = 1;
    assert.equal(await room.wait('a').result, 'through');
  });

  it('go to the one that arrived first, even if it had to ask first and so stands there later', async () => {
    const [first, second] = [turns.arrive(), turns.arrive()];
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

  it('tell that calls are waiting exactly as long as there are any', async () => {
    assert.equal(turns.limitsOf('acct'), null);
    const { result } = room.wait('a');
    assert.equal(turns.limitsOf('acct'), LIMITS);
    assert.equal(turns.limitsOf('acct_other'), null);
    room.end();
    await result;
    assert.equal(turns.limitsOf('acct'), null);
  });

  it('are refused at once where too many wait, and where there is no queue', async () => {
    for (const name of ['a', 'b', 'c']) room.wait(name);
    assert.equal(await room.wait('d').result, 'full');
    assert.equal(await createAdmissionQueue().wait('acct', { length: 0, waitMs: 0 }, neverLetIn), 'full');
  });

  it('are over when the time is over, to the millisecond, and not asked about again', async () => {
    const { result } = room.wait('a');
    await settled();
    mock.timers.tick(LIMITS.waitMs - 1);
    await settled();
    assert.notEqual(turns.limitsOf('acct'), null);
    mock.timers.tick(1);
    assert.equal(await result, 'late');
    const { attempts } = room;
    room.end();
    mock.timers.tick(LIMITS.waitMs);
    await settled();
    assert.equal(room.attempts, attempts);
  });

  it('are looked for every half a second, because calls of other nodes end unheard', async () => {
    const { result } = room.wait('a');
    await settled();
    room.free = 1;
    await settled();
    assert.deepEqual(room.through, []);
    mock.timers.tick(500);
    assert.equal(await result, 'through');
  });

  it('pass to the next one when a client leaves, wherever it stood', async () => {
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

  it('pass to the next one when asking fails', async () => {
    const failed = turns.wait('acct', LIMITS, {
      place: turns.arrive(),
      attempt: () => Promise.reject(new Error('the database is away')),
      onGone: () => undefined,
    });
    const next = room.wait('next');
    await assert.rejects(failed, /the database is away/);
    room.end();
    assert.equal(await next.result, 'through');
  });

  it('end for everybody when the node closes, and nobody waits after that', async () => {
    const waiting = ['a', 'b'].map((name) => room.wait(name));
    await settled();
    turns.close();
    assert.deepEqual(await Promise.all(waiting.map(({ result }) => result)), ['closed', 'closed']);
    assert.equal(turns.limitsOf('acct'), null);
    assert.equal(await room.wait('c').result, 'closed');
  });
});

const neverLetIn = { place: 0, attempt: async () => false, onGone: () => undefined };
