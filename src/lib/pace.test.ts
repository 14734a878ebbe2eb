import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPace } from './pace.ts';

it('createPace pauses for as long as the previous work took, and adds up short pauses', async () => {
  let nowMs = 0;
  const rests: number[] = [];
  const pace = createPace({ nowMs: () => nowMs, wait: async (ms) => rests.push(ms) });
  const work = (ms: number) => async () => {
    nowMs += ms;
    return rests.length;
  };
  // Each returns the number of pauses before it.
  const results: number[] = [];
  for (const ms of [5, 5, 30, 5, 5]) results.push(await pace(work(ms)));
  await assert.rejects(
    pace(async () => {
      nowMs += 50;
      throw new Error('failed');
    }),
    /failed/,
  );
  results.push(await pace(work(1)));
  assert.deepEqual(
    [results, rests],
    [
      [0, 0, 0, 1, 1, 2],
      [40, 60],
    ],
  );
});
