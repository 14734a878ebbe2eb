import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LaneFullError } from './errors.ts';
import { LANES, Turns } from './lanes.ts';

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
      LaneFullError,
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

describe('housekeeping', () => {
  it('gives a lock up sooner than anybody notices who waits behind it', () => {
    assert.ok(LANES.housekeeping.lockMaxMs <= 200);
  });
});
