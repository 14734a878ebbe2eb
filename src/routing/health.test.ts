import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { type BreakerTerms, createRouteHealth, type Passage, type RouteHealth } from './health.ts';

const START_MS = Date.UTC(2026, 10, 20, 4, 0, 0);
const healthy = { state: 'closed', failuresInARow: 0, lastFailure: null, probeAtMs: null };

describe('the breaker of a route', () => {
  let nowMs: number;
  let terms: BreakerTerms;
  let health: RouteHealth;
  beforeEach(() => {
    nowMs = START_MS;
    terms = { failuresMax: 5, probeAfterMs: 10_000 };
    health = createRouteHealth({ nowMs: () => nowMs }, () => terms);
  });

  const enter = (routeId = 'r'): Passage => health.enter(routeId) ?? assert.fail('the breaker does not let it through');
  const fail = (count: number, routeId = 'r'): void => {
    for (let i = 0; i < count; i++) enter(routeId).failed('upstream_error');
  };
  const assertRefused = (routeId = 'r'): void => {
    assert.equal(health.allows(routeId), false);
    assert.equal(health.enter(routeId), null);
  };
  const state = (): string => health.standing('r').state;
  /** Opens the breaker and goes to where it lets a probe through. */
  const openUntilProbe = (): void => {
    fail(5);
    nowMs += 10_000;
  };

  it('is closed on a route of which nothing is known', () => {
    assert.deepEqual(health.standing('r'), healthy);
    assert.equal(health.allows('r'), true);
  });

  it('lets calls through side by side', () => {
    const passages = [enter(), enter(), enter()];
    for (const passage of passages) passage.succeeded();
    assert.deepEqual(health.standing('r'), healthy);
  });

  it('stays closed after one failure less than the limit', () => {
    fail(4);
    assert.deepEqual(health.standing('r'), {
      state: 'closed',
      failuresInARow: 4,
      lastFailure: { reason: 'upstream_error', atMs: START_MS },
      probeAtMs: null,
    });
    assert.equal(health.allows('r'), true);
  });

  it('opens with the failure that reaches the limit, and says when it lets a probe through', () => {
    fail(4);
    nowMs += 7;
    enter().failed('status 503');
    assert.deepEqual(health.standing('r'), {
      state: 'open',
      failuresInARow: 5,
      lastFailure: { reason: 'status 503', atMs: START_MS + 7 },
      probeAtMs: START_MS + 7 + 10_000,
    });
    assertRefused();
  });

  it('counts failures in a row: a success between them starts anew, and keeps the last failure on show', () => {
    fail(4);
    enter().succeeded();
    assert.deepEqual(health.standing('r'), { ...healthy, lastFailure: { reason: 'upstream_error', atMs: START_MS } });
    fail(4);
    assert.equal(state(), 'closed');
    fail(1);
    assert.equal(state(), 'open');
  });

  it('does not count a call that ended without a verdict, nor take it for a success', () => {
    fail(4);
    enter().ended();
    assert.equal(health.standing('r').failuresInARow, 4);
    fail(1);
    assert.equal(state(), 'open');
  });

  it('counts one verdict a call, the first', () => {
    const passage = enter();
    passage.failed('first');
    passage.failed('second');
    passage.succeeded();
    passage.ended();
    assert.equal(health.standing('r').failuresInARow, 1);
    assert.equal(health.standing('r').lastFailure?.reason, 'first');
  });

  it('keeps the routes apart', () => {
    fail(5, 'a');
    fail(4, 'b');
    assertRefused('a');
    assert.equal(health.allows('b'), true);
    assert.deepEqual(health.standing('c'), healthy);
  });

  describe('a probe', () => {
    it('goes through when the time is over, not a millisecond before', () => {
      fail(5);
      nowMs += 9_999;
      assertRefused();
      nowMs += 1;
      assert.equal(health.allows('r'), true);
      assert.equal(state(), 'open');
      enter();
      assert.equal(state(), 'probing');
      assert.equal(health.standing('r').probeAtMs, null);
    });

    it('is one call; the others are refused while it is under way, however long that takes', () => {
      openUntilProbe();
      const probe = enter();
      assertRefused();
      nowMs += 3_600_000;
      assertRefused();
      probe.succeeded();
      enter();
      enter();
    });

    it('closes the breaker with a success, and failures count from none again', () => {
      openUntilProbe();
      enter().succeeded();
      assert.deepEqual(health.standing('r'), { ...healthy, lastFailure: { reason: 'upstream_error', atMs: START_MS } });
      fail(4);
      assert.equal(state(), 'closed');
    });

    it('opens the breaker again with its one failure, for the whole time', () => {
      openUntilProbe();
      const probe = enter();
      nowMs += 500;
      probe.failed('upstream_timeout');
      assert.deepEqual(health.standing('r'), {
        state: 'open',
        failuresInARow: 6,
        lastFailure: { reason: 'upstream_timeout', atMs: nowMs },
        probeAtMs: nowMs + 10_000,
      });
      nowMs += 9_999;
      assertRefused();
      nowMs += 1;
      enter();
    });

    it('that ends without a verdict leaves the breaker open, and the next call is the probe', () => {
      openUntilProbe();
      enter().ended();
      assert.equal(state(), 'open');
      const next = enter();
      assert.equal(state(), 'probing');
      assertRefused();
      next.succeeded();
      assert.equal(state(), 'closed');
    });

    it('counts one verdict: what it says after that does not end the probe of another call', () => {
      openUntilProbe();
      const first = enter();
      first.ended();
      enter();
      first.succeeded();
      first.failed('late');
      first.began();
      assert.equal(state(), 'probing');
      assertRefused();
    });

    it('closes the breaker as soon as its success begins: nobody waits for the end of a long stream', () => {
      openUntilProbe();
      const probe = enter();
      probe.began();
      assert.equal(state(), 'closed');
      enter();
      probe.succeeded();
      assert.equal(state(), 'closed');
    });

    it('whose success began and then broke off is one failure like any other', () => {
      openUntilProbe();
      const probe = enter();
      probe.began();
      probe.failed('upstream_error');
      assert.equal(health.standing('r').failuresInARow, 1);
      assert.equal(state(), 'closed');
    });
  });

  it('does not take the beginning of a success for a success where it is no probe', () => {
    fail(4);
    const passage = enter();
    passage.began();
    assert.equal(health.standing('r').failuresInARow, 4);
    passage.failed('upstream_error');
    assert.equal(state(), 'open');
  });

  describe('calls that began before it opened', () => {
    it('do not close it with a success', () => {
      const early = enter();
      fail(5);
      early.succeeded();
      assert.equal(state(), 'open');
    });

    it('do not put the probe off with a failure', () => {
      const early = enter();
      fail(5);
      nowMs += 9_000;
      early.failed('upstream_timeout');
      assert.equal(health.standing('r').probeAtMs, START_MS + 10_000);
      assert.deepEqual(health.standing('r').lastFailure, { reason: 'upstream_timeout', atMs: nowMs });
    });

    it('neither end nor decide a probe', () => {
      const [failing, succeeding, leaving] = [enter(), enter(), enter()];
      openUntilProbe();
      enter();
      failing.failed('late');
      succeeding.succeeded();
      leaving.ended();
      assert.equal(state(), 'probing');
      assertRefused();
    });

    it('do not open it again after a probe has closed it', () => {
      const early = Array.from({ length: 20 }, () => enter());
      openUntilProbe();
      enter().succeeded();
      for (const passage of early) passage.failed('upstream_timeout');
      assert.equal(state(), 'closed');
      assert.equal(health.standing('r').failuresInARow, 0);
    });
  });

  describe('terms changed by a reload', () => {
    it('hold from the next failure on', () => {
      fail(3);
      terms = { failuresMax: 2, probeAfterMs: 1_000 };
      assert.equal(state(), 'closed');
      fail(1);
      assert.equal(health.standing('r').probeAtMs, START_MS + 1_000);
    });

    it('let a route fail more often from then on', () => {
      fail(4);
      terms = { failuresMax: 7, probeAfterMs: 10_000 };
      fail(2);
      assert.equal(state(), 'closed');
      fail(1);
      assert.equal(state(), 'open');
    });

    it('leave the time of a probe that was set before', () => {
      fail(5);
      terms = { failuresMax: 5, probeAfterMs: 1 };
      nowMs += 9_999;
      assertRefused();
      nowMs += 1;
      enter().failed('upstream_error');
      assert.equal(health.standing('r').probeAtMs, nowMs + 1);
    });
  });

  describe('keepOnly', () => {
    it('forgets the routes that are gone and keeps the health of the others', () => {
      fail(5, 'gone');
      fail(5, 'r');
      fail(2, 'other');
      health.keepOnly(new Set(['r', 'other', 'new']));
      assert.deepEqual(health.standing('gone'), healthy);
      assertRefused('r');
      assert.equal(health.standing('other').failuresInARow, 2);
    });

    it('a call over a route that was forgotten meanwhile says nothing about one that comes back', () => {
      const early = enter();
      health.keepOnly(new Set());
      early.failed('upstream_error');
      assert.deepEqual(health.standing('r'), healthy);
    });
  });

  it('does what its words say, whatever comes in whatever order', () => {
    const step = fc.oneof(
      { arbitrary: fc.constant({ do: 'enter' } as const), weight: 4 },
      {
        arbitrary: fc.record({
          do: fc.constant('tell' as const),
          which: fc.nat({ max: 7 }),
          verdict: fc.constantFrom('failed', 'failed', 'failed', 'succeeded', 'ended', 'began'),
        }),
        weight: 6,
      },
      { arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 5, 10) }), weight: 2 },
      {
        arbitrary: fc.record({ do: fc.constant('reload' as const), failuresMax: fc.integer({ min: 1, max: 4 }) }),
        weight: 1,
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        nowMs = START_MS;
        terms = { failuresMax: 2, probeAfterMs: 10 };
        health = createRouteHealth({ nowMs: () => nowMs }, () => terms);
        const model = new ModelBreaker();
        const underWay: { passage: Passage; call: ModelCall }[] = [];
        for (const next of steps) {
          if (next.do === 'wait') nowMs += next.ms;
          if (next.do === 'reload') terms = { ...terms, failuresMax: next.failuresMax };
          if (next.do === 'enter') {
            assert.equal(health.allows('r'), model.allows(nowMs));
            const passage = health.enter('r');
            const call = model.enter(nowMs);
            assert.equal(passage !== null, call !== null);
            if (passage !== null && call !== null) underWay.push({ passage, call });
          }
          const told = next.do === 'tell' ? underWay[next.which] : undefined;
          if (next.do === 'tell' && told !== undefined) {
            if (next.verdict !== 'began') underWay.splice(next.which, 1);
            if (next.verdict === 'failed') told.passage.failed('x');
            else told.passage[next.verdict]();
            model.tell(told.call, next.verdict, nowMs, terms);
          }
          const { state: shown, failuresInARow, probeAtMs } = health.standing('r');
          assert.deepEqual({ state: shown, failuresInARow, probeAtMs }, model.standing());
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

interface ModelCall {
  isProbe: boolean;
  isOutdated: boolean;
}

/** The breaker as a machine of three explicit states that marks every call under way when it opens. */
class ModelBreaker {
  #state: 'closed' | 'open' | 'probing' = 'closed';
  #failures = 0;
  #probeAtMs = 0;
  readonly #calls: ModelCall[] = [];

  allows(nowMs: number): boolean {
    return this.#state === 'closed' || (this.#state === 'open' && nowMs >= this.#probeAtMs);
  }

  enter(nowMs: number): ModelCall | null {
    if (!this.allows(nowMs)) return null;
    const call = { isProbe: this.#state === 'open', isOutdated: false };
    if (call.isProbe) this.#state = 'probing';
    this.#calls.push(call);
    return call;
  }

  tell(call: ModelCall, verdict: 'failed' | 'succeeded' | 'ended' | 'began', nowMs: number, terms: BreakerTerms) {
    if (verdict === 'began' || verdict === 'succeeded') {
      if (call.isOutdated || (verdict === 'began' && !call.isProbe)) return;
      this.#state = 'closed';
      this.#failures = 0;
      call.isProbe = false;
    } else if (verdict === 'ended') {
      if (call.isProbe) this.#state = 'open';
    } else if (!call.isOutdated) {
      this.#failures++;
      if (!call.isProbe && this.#failures < terms.failuresMax) return;
      this.#state = 'open';
      this.#probeAtMs = nowMs + terms.probeAfterMs;
      for (const other of this.#calls) other.isOutdated = true;
    }
  }

  standing() {
    return {
      state: this.#state,
      failuresInARow: this.#failures,
      probeAtMs: this.#state === 'open' ? this.#probeAtMs : null,
    };
  }
}
