import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collect } from '../../../test/support/client.ts';
import { TimeShares } from '../../lib/time-shares.ts';
import { StreamedLines } from './streamed-lines.ts';

const LIMITS = { atOnceMax: 1, waitingMax: 0, burstMs: 1_000, share: 0.5 };

async function* pieces(made: string[], ...all: string[]): AsyncGenerator<string> {
  for (const piece of all) {
    made.push(piece);
    yield piece;
  }
}

describe('an answer that is sent line by line', () => {
  it('is made piece by piece at the turn of its holder, among what else the holder does', async () => {
    const shares = new TimeShares(LIMITS, () => 0);
    const streamed = new StreamedLines(shares);
    const made: string[] = [];
    const lines = streamed.atTurns(pieces(made, 'a', 'b'), 'holder');
    const { promise, resolve } = Promise.withResolvers<void>();
    const other = shares.run('holder', () => promise);
    const all = collect(lines);
    await new Promise(setImmediate);
    assert.deepEqual(made, []);
    resolve();
    await other;
    assert.deepEqual(await all, ['a', 'b']);
  });

  it('is one of four of its holder at a time, read or not, and of others no matter how many', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    const open = Array.from({ length: 4 }, () => streamed.atTurns(pieces([], 'a'), 'holder'));
    assert.throws(() => streamed.atTurns(pieces([]), 'holder'), { code: 'too_many_requests', status: 429 });
    assert.deepEqual(await collect(streamed.atTurns(pieces([], 'b'), 'other')), ['b']);
    // One is read to its end, one is left before anything of it was read.
    assert.deepEqual(await collect(open[0]!), ['a']);
    await open[1]![Symbol.asyncIterator]().return!();
    for (const letter of ['c', 'd']) streamed.atTurns(pieces([], letter), 'holder');
    assert.throws(() => streamed.atTurns(pieces([]), 'holder'), { code: 'too_many_requests' });
  });

  it('gives its place back where it fails', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    async function* failing(): AsyncGenerator<string> {
      yield 'a';
      throw new Error('broken');
    }
    for (let i = 0; i < 8; i++) await assert.rejects(collect(streamed.atTurns(failing(), 'holder')), /broken/);
  });
});
