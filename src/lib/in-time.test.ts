import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InTime, LATE } from './in-time.ts';

const never = new Promise<number>(() => undefined);

describe('InTime', () => {
  it('returns the result or the error of work that ends in time', async () => {
    const inTime = new InTime(3_600_000);
    const error = new Error('broken');
    const works = [inTime.of(Promise.resolve(1)), inTime.of(Promise.reject(error)), inTime.of(Promise.resolve(2))];
    assert.deepEqual(await Promise.allSettled(works), [
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 2 },
    ]);
  });

  it('reports each piece of late work, and keeps waiting for the others', async () => {
    const inTime = new InTime(5);
    const first = inTime.of(never);
    const done = inTime.of(Promise.resolve(7));
    assert.deepEqual(await Promise.all([first, done]), [LATE, 7]);
    assert.equal(await inTime.of(never), LATE);
  });

  it('ignores results and errors of late work', async () => {
    const inTime = new InTime(1);
    const slow = Promise.withResolvers<number>();
    assert.equal(await inTime.of(slow.promise), LATE);
    slow.reject(new Error('late'));
    assert.equal(await inTime.of(Promise.resolve(3)), 3);
  });
});
