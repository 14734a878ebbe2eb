import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collect } from '../../../test/support/client.ts';
import { TimeShares } from '../../lib/fair/time-shares.ts';
import { StreamedLines } from './streamed-lines.ts';

const LIMITS = { atOnceMax: 1, waitingMax: 0, burstMs: 1_000, share: 0.5 };

async function* chunksOf(made: string[], ...all: string[]): AsyncGenerator<string> {
  for (const chunk of all) {
    made.push(chunk);
    yield chunk;
  }
}

describe('StreamedLines', () => {
  it('produces the first chunk in the slot of the request, and queues each further one', async () => {
    const shares = new TimeShares(LIMITS, () => 0);
    const streamed = new StreamedLines(shares);
    const made: string[] = [];
    const lines = await shares.run('caller', () => streamed.begin(chunksOf(made, 'a', 'b'), 'caller'));
    assert.deepEqual(made, ['a']);
    const { promise, resolve } = Promise.withResolvers<void>();
    const other = shares.run('caller', () => promise);
    const all = collect(lines);
    await new Promise(setImmediate);
    assert.deepEqual(made, ['a']);
    resolve();
    await other;
    assert.deepEqual(await all, ['a', 'b']);
  });

  it('limits the open streams of one caller, not those of others', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    const open = await Promise.all(Array.from({ length: 4 }, () => streamed.begin(chunksOf([], 'a'), 'caller')));
    await assert.rejects(streamed.begin(chunksOf([]), 'caller'), { code: 'too_many_requests', status: 429 });
    assert.deepEqual(await collect(await streamed.begin(chunksOf([], 'b'), 'other')), ['b']);
    // One is read to the end, one is abandoned unread.
    assert.deepEqual(await collect(open[0]!), ['a']);
    await open[1]![Symbol.asyncIterator]().return!();
    for (const letter of ['c', 'd']) await streamed.begin(chunksOf([], letter), 'caller');
    await assert.rejects(streamed.begin(chunksOf([]), 'caller'), { code: 'too_many_requests' });
  });

  it('releases its slot if it fails, at once or later', async () => {
    const streamed = new StreamedLines(new TimeShares(LIMITS, () => 0));
    async function* failing(...before: string[]): AsyncGenerator<string> {
      yield* before;
      throw new Error('broken');
    }
    for (let i = 0; i < 8; i++) {
      await assert.rejects(streamed.begin(failing(), 'caller'), /broken/);
      await assert.rejects(collect(await streamed.begin(failing('a'), 'caller')), /broken/);
    }
  });
});
