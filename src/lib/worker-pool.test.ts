import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Tenant } from './fair/shares.ts';
import {
  copyToMove,
  createWorkerPool,
  takeToMove,
  WorkerFailedError,
  type WorkerPool,
  WorkerPoolBusyError,
  type WorkerPoolOptions,
} from './worker-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'worker-pool-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'worker.mjs');
writeFileSync(
  file,
  `
  import { threadId } from 'node:worker_threads';
  export function run({ does, value, lock }) {
    switch (does) {
      case 'echo': return value;
      case 'thread': return threadId;
      case 'wait': Atomics.wait(new Int32Array(lock), 0, 0); return value;
      case 'throw': throw new TypeError(value);
      case 'exit': process.exit(3);
      // It pauses at times, because constant CPU use is not what should end it.
      case 'spin': {
        const pause = new Int32Array(new SharedArrayBuffer(4));
        for (let turn = 1; ; turn++) if (turn % 100_000 === 0) Atomics.wait(pause, 0, 0, 5);
      }
      case 'hang': Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      // In small steps with pauses: one large allocation beyond the limit ends the process, and so may many at once.
      case 'fill': {
        const pause = new Int32Array(new SharedArrayBuffer(4));
        let filled = null;
        for (let piece = 1; ; piece++) {
          filled = { before: filled, values: [0] };
          if (piece % 10_000 === 0) Atomics.wait(pause, 0, 0, 5);
        }
      }
    }
  }`,
);

interface Task {
  readonly does: string;
  readonly value?: unknown;
  readonly lock?: SharedArrayBuffer;
}

const tenant = (accountId: string): Tenant => ({ accountId, isOnlyAccount: false });
const pools: WorkerPool[] = [];
after(() => Promise.all(pools.map((pool) => pool.close())));

function poolWith(options: Partial<WorkerPoolOptions> = {}): WorkerPool {
  const defaults = {
    name: 'test',
    threadsMax: 1,
    placesMax: 1_000,
    taskMsMax: 600_000,
    heapMiBMax: 16,
    idleMs: 600_000,
  };
  const pool = createWorkerPool({ file, ...defaults, ...options });
  pools.push(pool);
  return pool;
}

function run(pool: WorkerPool, task: Task, accountId = 'a'): Promise<unknown> {
  return pool.run(tenant(accountId), () => ({ task, moved: [] }));
}

/** A task that occupies its thread until the test releases it. */
function hold(pool: WorkerPool, accountId = 'a') {
  const lock = new SharedArrayBuffer(4);
  const done = run(pool, { does: 'wait', lock }, accountId);
  return {
    async letGo() {
      Atomics.store(new Int32Array(lock), 0, 1);
      Atomics.notify(new Int32Array(lock), 0);
      await done;
    },
  };
}

describe('createWorkerPool', () => {
  it('runs tasks in another thread, transfers bytes to it, and passes on errors of tasks', async () => {
    const pool = poolWith();
    assert.notEqual(await run(pool, { does: 'thread' }), 0);
    const body = new ArrayBuffer(100_000);
    const echoed = await pool.run<Task, ArrayBuffer>(tenant('a'), () => ({
      task: { does: 'echo', value: body },
      moved: [body],
    }));
    assert.deepEqual([echoed.byteLength, body.byteLength], [100_000, 0]);
    await assert.rejects(run(pool, { does: 'throw', value: 'oh' }), { name: 'TypeError', message: 'oh' });
    assert.equal(await run(pool, { does: 'echo', value: 1 }), 1);
  });

  it('serves accounts in turn, however many tasks one of them has queued', async () => {
    const pool = poolWith();
    const held = hold(pool);
    const order: string[] = [];
    const queue = (accountId: string, value: string) =>
      run(pool, { does: 'echo', value }, accountId).then((done) => order.push(String(done)));
    const queued = [
      ...['a1', 'a2', 'a3', 'a4'].map((value) => queue('a', value)),
      ...['b1', 'b2'].map((value) => queue('b', value)),
      queue('c', 'c1'),
    ];
    await held.letGo();
    await Promise.all(queued);
    assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('prepares a task only when it may run', async () => {
    const pool = poolWith();
    const held = hold(pool);
    let isPrepared = false;
    const task = pool.run(tenant('a'), () => {
      isPrepared = true;
      return { task: { does: 'echo' }, moved: [] };
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isPrepared, false);
    await held.letGo();
    await task;
  });

  it('refuses tasks of an account beyond its share, and still accepts tasks of others', async () => {
    const pool = poolWith({ placesMax: 16 });
    const held = hold(pool);
    const tasks: Promise<unknown>[] = [];
    const refused: unknown[] = [];
    for (let i = 0; i < 20; i++) tasks.push(run(pool, { does: 'echo' }).catch((error) => refused.push(error)));
    await new Promise((resolve) => setImmediate(resolve));
    // Of 16 places, the last two are reserved, and the running task takes one.
    assert.equal(refused.length, 7);
    assert.ok(refused.every((error) => error instanceof WorkerPoolBusyError));
    tasks.push(run(pool, { does: 'echo' }, 'b'));
    await held.letGo();
    await Promise.all(tasks);
    assert.equal(await run(pool, { does: 'echo', value: 2 }), 2);
  });

  it('ends only the thread of a task that exceeds its time limit', async () => {
    const pool = poolWith({ threadsMax: 2, taskMsMax: 3_000 });
    const other = await run(pool, { does: 'thread' });
    const [first, second] = await Promise.allSettled([run(pool, { does: 'spin' }), run(pool, { does: 'hang' }, 'b')]);
    for (const outcome of [first, second]) {
      assert.equal(outcome.status, 'rejected');
      assert.ok(outcome.reason instanceof WorkerFailedError);
      assert.match(outcome.reason.message, /longer than 3000 ms/);
    }
    assert.notEqual(await run(pool, { does: 'thread' }), other);
  });

  // The process must survive, because it runs the tests.
  for (const [does, cause] of [
    ['fill', 'ERR_WORKER_OUT_OF_MEMORY'],
    ['exit', undefined],
  ] as const) {
    it(`fails only the task whose thread ended (${does}), and runs the waiting tasks in another thread`, async () => {
      const pool = poolWith();
      const tasks = ['echo', does, 'echo', does, 'echo'].map((each, value) => run(pool, { does: each, value }));
      const outcomes = await Promise.allSettled(tasks);
      const values = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : null));
      assert.deepEqual(values, [0, null, 2, null, 4]);
      for (const outcome of [outcomes[1]!, outcomes[3]!]) {
        assert.ok(outcome.status === 'rejected' && outcome.reason instanceof WorkerFailedError);
        assert.equal((outcome.reason.cause as NodeJS.ErrnoException).code, cause);
      }
    });
  }

  it('continues after a task that could not be prepared', async () => {
    const pool = poolWith();
    const unprepared = pool.run(tenant('a'), () => Promise.reject(new Error('no memory')));
    await assert.rejects(unprepared, { message: 'no memory' });
    assert.equal(await run(pool, { does: 'echo', value: 3 }), 3);
  });

  it('finishes pending tasks when it is closed, and refuses later ones', async () => {
    const pool = poolWith();
    const tasks = [1, 2, 3].map((value) => run(pool, { does: 'echo', value }));
    await Promise.all([pool.close(), pool.close()]);
    assert.deepEqual(await Promise.all(tasks), [1, 2, 3]);
    await assert.rejects(run(pool, { does: 'echo' }), /closed/);
  });

  it('starts no thread before the first task', async () => {
    const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    const before = ports();
    const pool = poolWith();
    assert.equal(ports(), before);
    await run(pool, { does: 'echo' });
    await pool.close();
  });
});

describe('copyToMove and takeToMove', () => {
  const bytes = Buffer.from(Array.from({ length: 9 * 2 ** 20 + 5 }, (_, i) => i % 251));

  it('copy large memory in steps, with other work in between', async () => {
    let turns = 0;
    const counting = setImmediate(function count() {
      turns++;
      setImmediate(count).unref();
    });
    const copy = await copyToMove(bytes);
    clearImmediate(counting);
    assert.ok(bytes.equals(Buffer.from(copy)));
    assert.ok(turns >= 2, `${turns}`);
  });

  it('transfer memory without a copy if no other bytes share it', async () => {
    const own = Buffer.allocUnsafeSlow(100);
    assert.equal(await takeToMove(own), own.buffer);
    const part = bytes.subarray(10, 20);
    const copy = await takeToMove(part);
    assert.notEqual(copy, part.buffer);
    assert.deepEqual(Buffer.from(copy), part);
  });
});
