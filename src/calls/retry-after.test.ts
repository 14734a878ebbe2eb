import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLocalTime } from '../accounting/pricing/local-time.ts';
import { quotaReset, retryAfter } from './retry-after.ts';

const NOW_MS = Date.parse('2026-11-22T00:15:00.500Z');

describe('retry-after', () => {
  it('is the wait in seconds, rounded up, and at least 1', () => {
    for (const [waitMs, seconds] of [
      [-5_000, '1'],
      [0, '1'],
      [1, '1'],
      [1_001, '2'],
      [60_000, '60'],
    ] as const) {
      assert.deepEqual(retryAfter(NOW_MS + waitMs, NOW_MS), { 'retry-after': seconds });
    }
  });

  it('is omitted beyond a minute, because agents would wait silently', () => {
    for (const waitMs of [60_001, 5 * 3_600_000]) assert.deepEqual(retryAfter(NOW_MS + waitMs, NOW_MS), {});
  });
});

describe('the text of a wait', () => {
  const localTime = createLocalTime('Asia/Shanghai');
  const MINUTE_MS = 60_000;
  for (const [waitMs, at, words] of [
    [1, '2026-11-22 08:16', '1 min'],
    [MINUTE_MS, '2026-11-22 08:17', '1 min'],
    [MINUTE_MS + 1, '2026-11-22 08:17', '2 min'],
    [60 * MINUTE_MS, '2026-11-22 09:16', '1 h'],
    [298 * MINUTE_MS - 30_000, '2026-11-22 13:13', '4 h 58 min'],
    [24 * 60 * MINUTE_MS, '2026-11-23 08:16', '1 d'],
    [(6 * 24 + 5) * 60 * MINUTE_MS + 1, '2026-11-28 13:16', '6 d 6 h'],
    [(7 * 24 * 60 - 1) * MINUTE_MS, '2026-11-29 08:15', '7 d'],
  ] as const) {
    it(`are never too short: ${waitMs} ms are ${words}`, () => {
      assert.equal(
        quotaReset(NOW_MS + waitMs, NOW_MS, localTime),
        `This quota is exhausted and will reset at ${at} +08:00, in ${words}.`,
      );
    });
  }
});
