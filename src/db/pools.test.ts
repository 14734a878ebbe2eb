import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PoolFullError } from './errors.ts';
import { POOLS, Turns } from './pools.ts';

describe('turns', () => {
  it('let so many run at a time, the others in the order in which they came, and refuse who comes beyond that', async () => {
    const turns = new Turns('test', 2, 2);
    const begun: number[] = [];
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
    const work = ends.map((end, i) =>
      turns.run(() => {
        begun.push(i);
        return end.promise;
      }),
    );
    assert.deepEqual(begun, [0, 1]);
    await assert.rejects(
      turns.run(async () => 4),
      PoolFullError,
    );
    ends[1]!.reject(new Error('failed'));
    await assert.rejects(work[1]!, /failed/);
    assert.deepEqual(begun, [0, 1, 2]);
    for (const i of [0, 2, 3]) {
      ends[i]!.resolve(i);
      assert.equal(await work[i], i);
    }
    assert.deepEqual(begun, [0, 1, 2, 3]);
    assert.equal(await turns.run(async () => 5), 5);
  });
});

describe('slots of tenants', () => {
  /** Work that a test ends, by name. */
  function scene(atOnceMax: number, heldWaitingMax: number) {
    const turns = new Turns('test', atOnceMax, 2, heldWaitingMax);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    return {
      turns,
      begun,
      begin: (name: string, tenant: string | null) =>
        turns.run(() => {
          begun.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        }, tenant),
      async end(name: string): Promise<void> {
        ends.get(name)!();
        await new Promise(setImmediate);
      },
    };
  }

  it('leave one slot to operators, who go first, and one of the others to other tenants', async () => {
    const { begin, begun, end } = scene(4, 8);
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void begin(name, name[0]!);
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    void begin('operator 1', null);
    void begin('operator 2', null);
    assert.deepEqual(begun, ['a1', 'a2', 'b1', 'operator 1']);
    await end('a1');
    assert.equal(begun.at(-1), 'operator 2');
    await end('operator 1');
    assert.equal(begun.at(-1), 'a3');
    await end('b1');
    assert.equal(begun.at(-1), 'c1');
  });

  it('are shared by tenants whatever they queue, and one tenant fills only a share of the queue', async () => {
    const { begin, begun, end } = scene(1, 8);
    void begin('first', 'a');
    for (const name of ['a1', 'a2']) void begin(name, 'a');
    await assert.rejects(begin('a3', 'a'), PoolFullError);
    for (const name of ['b1', 'c1']) void begin(name, name[0]!);
    for (const name of ['first', 'a1', 'b1', 'c1']) await end(name);
    assert.deepEqual(begun, ['first', 'a1', 'b1', 'c1', 'a2']);
  });
});

describe('housekeeping', () => {
  it('gives a lock up sooner than anybody notices who waits behind it', () => {
    assert.ok(POOLS.housekeeping.lockMaxMs <= 200);
  });
});
