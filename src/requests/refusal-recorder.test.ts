import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestClock } from '../../test/support/clock.ts';
import { createIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { createRefusalRecorder } from './refusal-recorder.ts';
import type { Refusal } from './refusals-store.ts';

describe('refusal recorder', () => {
  it('counts refusals that find its queue full, so that the sums stay correct', async () => {
    const clock = createTestClock('2026-11-20T04:00:00Z');
    const stored: Refusal[] = [];
    const recorder = createRefusalRecorder({
      store: { insert: async (batch) => void stored.push(...batch) },
      clock,
      ids: createIds(clock),
      logger: silentLogger,
      timers: { nowMs: () => 0, after: () => () => undefined },
    });
    const refusal = { count: 1, accountId: 'a', code: 'x' } as Refusal;
    for (let n = 0; n < 5_000; n++) recorder.record(`account ${n % 50}`, 'x', () => refusal);
    await recorder.close();
    assert.equal(recorder.dropped, 0);
    assert.equal(
      stored.reduce((sum, { count }) => sum + count, 0),
      5_000,
    );
  });
});
