import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collect } from '../../../test/support/client.ts';
import { TimeShares } from '../../lib/fair/time-shares.ts';
import { StreamedLines } from './streamed-lines.ts';

const LIMITS = { atOnceMax: 1, waitingMax: 0, burstMs: 1_000, share: 0.5 };

async function* pieces(made: string[], ...all: string[]): AsyncGenerator<string> {
  for (const piece of all) {
    made.push(piece);
    yield piece;
  }
}

describe('a response that is sent line by line', () => {
  it('is made piece by piece, the first at the turn of its request, each further one at a turn of its own', async () => {
    const shares = new TimeShares(LIMITS, () => 0);
    const streamed = new StreamedLines(shares);
    const made: string[] = [];
    const lines = await shares.run('holder', () => streamed.begin(pieces(made, 'a', 'b'), 'holder'));
    assert.deepEqual(made, ['a']);
    const { promise, resolve } = Promise.withResolvers<void>();
    const other = shares.run('holder', () => promise);
    const all = collect(lines);
    await new Promise(setImmediate);
    assert.deepEqual(made, ['a']);
    resolve();
    await other;
    assert.deepEqual(await all, ['a', 'b']);
  });

  it('is one of four of its holder at a time, read or not, and of others no matter how many', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    const open = await Promise.all(Array.from({ length: 4 }, () => streamed.begin(pieces([], 'a'), 'holder')));
    await assert.rejects(streamed.begin(pieces([]), 'holder'), { code: 'too_many_requests', status: 429 });
    assert.deepEqual(await collect(await streamed.begin(pieces([], 'b'), 'other')), ['b']);
    // One is read to its end, one is left before anything of it was read.
    assert.deepEqual(await collect(open[0]!), ['a']);
    await open[1]![Symbol.asyncIterator]().return!();
    for (const letter of ['c', 'd']) await streamed.begin(pieces([], letter), 'holder');
    await assert.rejects(streamed.begin(pieces([]), 'holder'), { code: 'too_many_requests' });
  });

  it('gives its place back if it fails, at once or later', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    async function* failing(...before: string[]): AsyncGenerator<string> {
      yield* before;
      throw new Error('broken');
    }
    for (let i = 0; i < 8; i++) {
      await assert.rejects(streamed.begin(failing(), 'holder'), /broken/);
      await assert.rejects(collect(await streamed.begin(failing('a'), 'holder')), /broken/);
    }
  });
});
