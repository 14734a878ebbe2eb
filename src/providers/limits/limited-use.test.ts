import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { LimitedUse } from './limited-use.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');
const waitMs = (use: LimitedUse, nowMs = NOW_MS): number => use.freeAtMs(nowMs) - nowMs;

describe('the use of a provider with limits', () => {
  it('is unlimited without limits', () => {
    const use = new LimitedUse('provider a', {});
    for (let i = 0; i < 1_000; i++) use.begin(1_000_000, NOW_MS);
    assert.equal(waitMs(use), 0);
  });

  it('allows the requests of a minute at once, then one at a time', () => {
    const use = new LimitedUse('provider a', { requestsPerMinute: 3 });
    for (let i = 0; i < 3; i++) {
      assert.equal(waitMs(use), 0, `${i}`);
      use.begin(0, NOW_MS);
    }
    assert.equal(waitMs(use), 20_000);
    assert.equal(waitMs(use, NOW_MS + 19_999), 1);
    assert.equal(waitMs(use, NOW_MS + 20_000), 0);
  });

  it('counts estimated tokens at the beginning of a call, and those that it used at its end', () => {
    const use = new LimitedUse('provider a', { tokensPerMinute: 600 });
    const call = use.begin(500, NOW_MS);
    assert.deepEqual(use.limitStatus(NOW_MS), [{ kind: 'tokensPerMinute', max: 600, used: 500, freeAtMs: null }]);
    use.end(call, 700, NOW_MS);
    assert.deepEqual(use.limitStatus(NOW_MS)[0]!.used, 700);
    assert.equal(waitMs(use), 10_001);
  });

  it('gives back the tokens of a call that did not run, but only those that have not drained yet', () => {
    const use = new LimitedUse('provider a', { tokensPerMinute: 600 });
    const early = use.begin(600, NOW_MS);
    use.begin(300, NOW_MS + 30_000);
    // 300 of the first call have drained, and 600 are counted.
    use.end(early, 0, NOW_MS + 30_000);
    assert.equal(use.limitStatus(NOW_MS + 30_000)[0]!.used, 300);
    use.begin(300, NOW_MS + 90_000);
    use.end(early, 0, NOW_MS + 90_000);
    assert.equal(use.limitStatus(NOW_MS + 90_000)[0]!.used, 300);
  });

  it('limits calls in flight, here and in other processes', () => {
    const use = new LimitedUse('provider a', { concurrentCalls: 3 });
    const call = use.begin(0, NOW_MS);
    use.addElsewhere({ requests: 1, tokens: 0, inFlight: 1 }, NOW_MS);
    assert.equal(waitMs(use), 0);
    use.begin(0, NOW_MS);
    assert.equal(waitMs(use), 1_000);
    use.end(call, 0, NOW_MS);
    assert.equal(waitMs(use), 0);
    use.addElsewhere({ requests: 0, tokens: 0, inFlight: 2 }, NOW_MS);
    assert.equal(waitMs(use), 1_000);
  });

  it('is over until the day or the month ends if its budget is used up', () => {
    const use = new LimitedUse('provider a', { dailyCostYuan: 10n, monthlyCostYuan: 100n });
    const [dayEndsAtMs, monthEndsAtMs] = [NOW_MS + 1_000_000, NOW_MS + 9_000_000];
    const cost = (dayNano: bigint, monthNano: bigint) =>
      use.setCosts({ dayNano, monthNano, dayEndsAtMs, monthEndsAtMs });
    assert.equal(waitMs(use), 0);
    cost(9n, 99n);
    assert.equal(waitMs(use), 0);
    cost(10n, 99n);
    assert.equal(waitMs(use), 1_000_000);
    cost(0n, 100n);
    assert.equal(waitMs(use), 9_000_000);
    assert.deepEqual(use.budgetStatus, [
      { kind: 'day', maxNano: 10n, usedNano: 0n, endsAtMs: dayEndsAtMs },
      { kind: 'month', maxNano: 100n, usedNano: 100n, endsAtMs: monthEndsAtMs },
    ]);
  });

  it('starts a day at once, although its costs are only known later', () => {
    const use = new LimitedUse('provider a', { dailyCostYuan: 10n });
    use.setCosts({ dayNano: 10n, monthNano: 10n, dayEndsAtMs: NOW_MS + 5, monthEndsAtMs: NOW_MS + 5 });
    assert.equal(waitMs(use, NOW_MS + 5), 0);
  });

  it('keeps what was used if the limits change or the clock is set back', () => {
    const use = new LimitedUse('provider a', { requestsPerMinute: 2 });
    use.begin(0, NOW_MS);
    use.begin(0, NOW_MS);
    use.change({ requestsPerMinute: 3 });
    assert.equal(waitMs(use), 0);
    use.change({ requestsPerMinute: 1 });
    assert.equal(waitMs(use), 60_000);
    assert.equal(waitMs(use, NOW_MS - 30_000), 60_000);
    assert.equal(waitMs(use, NOW_MS + 60_000), 0);
  });

  it('is free again within a minute if a limit is much lower, and at once if there was none', () => {
    const use = new LimitedUse('provider a', { requestsPerMinute: 3_000, tokensPerMinute: 600 });
    for (let i = 0; i < 3_000; i++) use.begin(0, NOW_MS);
    const call = use.begin(600, NOW_MS);
    use.end(call, 6_000, NOW_MS);
    use.change({ requestsPerMinute: 60, tokensPerMinute: 300 });
    const [requests, tokens] = use.limitStatus(NOW_MS);
    assert.deepEqual([requests!.used, requests!.freeAtMs], [61, NOW_MS + 1_020]);
    // What took ten minutes to drain still does.
    assert.equal(tokens!.used, 3_000);
    use.change({ concurrentCalls: 9 });
    use.change({ requestsPerMinute: 60 });
    assert.equal(waitMs(use), 0);
  });

  it('counts at most a minute of an estimate, however large it is', () => {
    const use = new LimitedUse('provider a', { tokensPerMinute: 600 });
    const call = use.begin(1_000_000_000, NOW_MS);
    assert.equal(use.counts.tokens, 600);
    assert.equal(waitMs(use), 1);
    use.end(call, 0, NOW_MS);
    assert.deepEqual([use.counts.tokens, use.limitStatus(NOW_MS)[0]!.used], [0, 0]);
  });

  it('gives back the tokens that other processes did not use after all, but only those that have not drained yet', () => {
    const use = new LimitedUse('provider a', { tokensPerMinute: 600 });
    const elsewhere = (tokens: number, atMs: number) => use.addElsewhere({ requests: 0, tokens, inFlight: 0 }, atMs);
    elsewhere(600, NOW_MS);
    elsewhere(-600, NOW_MS + 1_000);
    assert.equal(use.limitStatus(NOW_MS + 1_000)[0]!.used, 0);
    elsewhere(600, NOW_MS + 1_000);
    use.begin(300, NOW_MS + 61_000);
    elsewhere(-600, NOW_MS + 61_000);
    assert.equal(use.limitStatus(NOW_MS + 61_000)[0]!.used, 300);
  });

  it('never lets more than one minute’s requests and what drains meanwhile through', () => {
    const calls = fc.array(fc.nat(5_000), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), calls, (requestsPerMinute, gaps) => {
        const use = new LimitedUse('provider a', { requestsPerMinute });
        let nowMs = NOW_MS;
        let passed = 0;
        for (const gap of gaps) {
          nowMs += gap;
          if (use.freeAtMs(nowMs) > nowMs) continue;
          use.begin(0, nowMs);
          passed++;
        }
        assert.ok(passed <= requestsPerMinute + ((nowMs - NOW_MS) / 60_000) * requestsPerMinute + 1e-6);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
