import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import type { FailureKind } from './blame.ts';
import { ACCOUNT_BREAKERS_MAX, type BreakerTerms, RouteHealth, type RoutePermit } from './health.ts';

const START_MS = Date.UTC(2026, 10, 20, 4, 0, 0);
const healthy = { state: 'closed', failuresInARow: 0, lastFailure: null, probeAtMs: null, accounts: [] };

const kinds: Readonly<Record<string, FailureKind>> = {
  fails: 'response',
  breaks: 'connection',
  'meets 401': 'operator',
};

/**
 * What several accounts, each named by a letter, do on one route, one line a step:
 *
 * - `a fails`, `a 5 fails`: calls of account a that get a failed response; `a breaks`: calls that get no connection; `a meets
 *   401`: calls that the provider refuses because of the operator's credential or account
 * - `a succeeds`
 * - `a calls`: a call that stays under way; `a's call fails`, `a's call succeeds`, `a's call ends`: the end of the oldest one, the
 *   last without a result; `a's call begins`: first data of its success
 * - `a is refused`, `a is let through`: whether a call would be let through now
 * - `after 10 s`
 * - `the route is open`: what is shown, then the accounts with breakers that are not closed; `4 failures in a row`
 */
function play(transcript: string): void {
  let nowMs = START_MS;
  const health = new RouteHealth({ nowMs: () => nowMs }, () => ({ failuresMax: 5, probeAfterMs: 10_000 }));
  const underWay = new Map<string, RoutePermit[]>();
  const enter = (accountId: string, line: string): RoutePermit =>
    health.enter('r', accountId) ?? assert.fail(`refused: ${line}`);
  for (const line of transcript
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '')) {
    const [who = '', ...words] = line.split(/[ ,]+/);
    const count = /^[\d.]+$/.test(words[0] ?? '') ? Number(words.shift()) : 1;
    const what = words.join(' ');
    const calls = underWay.get(who.charAt(0)) ?? [];
    if (who === 'after') nowMs += count * 1000;
    else if (what === 'calls') underWay.set(who, [...calls, ...Array.from({ length: count }, () => enter(who, line))]);
    else if (what === 'call begins') calls[0]!.began();
    else if (what === 'call fails') calls.shift()!.failed('status 500', 'response');
    else if (what === 'call succeeds') calls.shift()!.succeeded();
    else if (what === 'call ends') calls.shift()!.ended();
    else if (what === 'is refused') assert.equal(health.allows('r', who), false, line);
    else if (what === 'is let through') assert.equal(health.allows('r', who), true, line);
    else if (what === 'failures in a row') {
      assert.equal(health.status('r').failuresInARow, Number(who), line);
    } else if (who === 'the') {
      const { state, accounts } = health.status('r');
      assert.deepEqual(['route', 'is', state, ...accounts.map(({ accountId }) => accountId)], words, line);
    } else {
      for (let i = 0; i < count; i++) {
        const permit = enter(who, line);
        if (what === 'succeeds') permit.succeeded();
        else permit.failed('x', kinds[what] ?? assert.fail(line));
      }
    }
  }
}

describe('the breaker of a route', () => {
  let nowMs: number;
  let terms: BreakerTerms;
  let health: RouteHealth;
  beforeEach(() => {
    nowMs = START_MS;
    terms = { failuresMax: 5, probeAfterMs: 10_000 };
    health = new RouteHealth({ nowMs: () => nowMs }, () => terms);
  });

  const enter = (routeId = 'r', accountId = 'a'): RoutePermit =>
    health.enter(routeId, accountId) ?? assert.fail('the breaker does not let it through');
  const fail = (count: number, routeId = 'r'): void => {
    for (let i = 0; i < count; i++) enter(routeId).failed('upstream_error', 'response');
  };
  const assertRefused = (routeId = 'r'): void => {
    assert.equal(health.allows(routeId, 'a'), false);
    assert.equal(health.enter(routeId, 'a'), null);
  };

  it('is closed on a route of which nothing is known', () => {
    assert.deepEqual(health.status('r'), healthy);
    assert.equal(health.allows('r', 'a'), true);
  });

  it('shows its last failure, when it lets a probe through, and none of it while the probe is under way', () => {
    fail(4);
    const lastFailure = { reason: 'upstream_error', atMs: START_MS };
    assert.deepEqual(health.status('r'), { ...healthy, failuresInARow: 4, lastFailure });
    enter().succeeded();
    assert.deepEqual(health.status('r'), { ...healthy, lastFailure });
    const early = enter();
    fail(4);
    nowMs += 7;
    enter().failed('status 503', 'response');
    const open = { state: 'open', failuresInARow: 5, probeAtMs: nowMs + 10_000 };
    assert.deepEqual(health.status('r'), {
      ...open,
      lastFailure: { reason: 'status 503', atMs: nowMs },
      accounts: [{ accountId: 'a', ...open }],
    });
    assertRefused();
    nowMs += 10_000;
    early.failed('upstream_timeout', 'response');
    assert.deepEqual(health.status('r').lastFailure, { reason: 'upstream_timeout', atMs: nowMs });
    assert.equal(health.status('r').probeAtMs, open.probeAtMs);
    const probe = enter();
    assert.deepEqual([health.status('r').state, health.status('r').probeAtMs], ['probing', null]);
    probe.succeeded();
    assert.deepEqual(health.status('r'), { ...healthy, lastFailure: { reason: 'upstream_timeout', atMs: nowMs } });
  });

  it('counts one result a call, the first: a later one does not end the probe of another call', () => {
    const permit = enter();
    permit.failed('first', 'response');
    permit.failed('second', 'response');
    permit.succeeded();
    permit.ended();
    assert.deepEqual([health.status('r').failuresInARow, health.status('r').lastFailure?.reason], [1, 'first']);
    fail(4);
    nowMs += 10_000;
    const first = enter();
    first.ended();
    enter();
    first.succeeded();
    first.failed('late', 'response');
    first.began();
    assert.equal(health.status('r').state, 'probing');
    assertRefused();
  });

  it('keeps the routes apart', () => {
    fail(5, 'a');
    fail(4, 'b');
    assertRefused('a');
    assert.equal(health.allows('b', 'a'), true);
    assert.deepEqual(health.status('c'), healthy);
  });

  const transcripts: Record<string, string> = {
    'a success between failures starts anew': `
      a 4 fails
      a succeeds
      a 4 fails
      the route is closed
      a fails
      the route is open, a`,
    'a call that ended without a result is neither a failure nor a success': `
      a 4 fails
      a calls
      a's call ends
      4 failures in a row
      a fails
      the route is open, a`,
    'a probe goes through when the time is over, not a millisecond before': `
      a 5 fails
      after 9.999 s
      a is refused
      after 0.001 s
      a is let through
      the route is open, a
      a calls
      the route is probing, a`,
    'a probe is one call; the others are refused while it is under way, however long that takes': `
      a 5 fails
      after 10 s
      a calls
      a is refused
      after 3600 s
      a is refused
      a's call succeeds
      a 2 calls
      a is let through`,
    'a probe that succeeds closes it, and failures count from none again': `
      a 5 fails
      after 10 s
      a succeeds
      0 failures in a row
      a 4 fails
      the route is closed`,
    'a probe that fails opens it again, for the whole time': `
      a 5 fails
      after 10 s
      a calls
      after 0.5 s
      a's call fails
      6 failures in a row
      after 9.999 s
      a is refused
      after 0.001 s
      a is let through`,
    'a probe that ends without a result leaves it open, and the next call is the probe': `
      a 5 fails
      after 10 s
      a calls
      a's call ends
      the route is open, a
      a calls
      the route is probing, a
      a is refused
      a's call succeeds
      the route is closed`,
    'a probe closes it as soon as its success begins: other calls do not wait for the end of a long stream': `
      a 5 fails
      after 10 s
      a calls
      a's call begins
      the route is closed
      a calls
      a's call succeeds
      the route is closed`,
    'a probe whose success began and then broke off is one failure like any other': `
      a 5 fails
      after 10 s
      a calls
      a's call begins
      a's call fails
      1 failures in a row
      the route is closed`,
    'the beginning of a success is none if the call is no probe': `
      a 4 fails
      a calls
      a's call begins
      4 failures in a row
      a's call fails
      the route is open, a`,
    'calls that began before it opened neither close it nor put the probe off': `
      a 2 calls
      a 5 fails
      a's call succeeds
      the route is open, a
      after 9 s
      a's call fails
      after 1 s
      a is let through`,
    'calls that began before it opened neither end nor decide a probe': `
      a 3 calls
      a 5 fails
      after 10 s
      a calls
      a's call fails
      a's call succeeds
      a's call ends
      the route is probing, a
      a is refused`,
    'calls that began before it opened do not open it again after a probe has closed it': `
      a 5 calls
      a 5 fails
      after 10 s
      a succeeds
      a's call fails
      a's call fails
      a's call fails
      a's call fails
      a's call fails
      0 failures in a row
      the route is closed`,
  };
  for (const [what, transcript] of Object.entries(transcripts)) it(what, () => play(transcript));

  describe('policy changed by a reload', () => {
    it('apply from the next failure on', () => {
      fail(3);
      terms = { failuresMax: 2, probeAfterMs: 1_000 };
      assert.equal(health.status('r').state, 'closed');
      fail(1);
      assert.equal(health.status('r').probeAtMs, START_MS + 1_000);
    });

    it('leave the time of a probe that was set before', () => {
      fail(5);
      terms = { failuresMax: 5, probeAfterMs: 1 };
      nowMs += 9_999;
      assertRefused();
      nowMs += 1;
      enter().failed('upstream_error', 'response');
      assert.equal(health.status('r').probeAtMs, nowMs + 1);
    });
  });

  describe('keepOnly', () => {
    it('forgets the routes that are gone and keeps the health of the others', () => {
      fail(5, 'gone');
      fail(5, 'r');
      fail(2, 'other');
      health.keepOnly(new Set(['r', 'other', 'new']));
      assert.deepEqual(health.status('gone'), healthy);
      assertRefused('r');
      assert.equal(health.status('other').failuresInARow, 2);
    });

    it('a call over a route that was forgotten meanwhile does not count for one that comes back', () => {
      const early = enter();
      health.keepOnly(new Set());
      early.failed('upstream_error', 'response');
      assert.deepEqual(health.status('r'), healthy);
    });
  });

  it('is one breaker for the only account, whatever fails, ends and begins in whatever order', () => {
    const step = fc.oneof(
      { arbitrary: fc.constant({ do: 'enter' } as const), weight: 4 },
      {
        arbitrary: fc.record({
          do: fc.constant('tell' as const),
          which: fc.nat({ max: 7 }),
          verdict: fc.constantFrom('failed', 'failed', 'failed', 'succeeded', 'ended', 'began'),
          kind: fc.constantFrom<FailureKind>('response', 'connection', 'operator'),
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
        health = new RouteHealth({ nowMs: () => nowMs }, () => terms);
        const model = new ModelBreaker();
        const underWay: { permit: RoutePermit; call: ModelCall }[] = [];
        for (const next of steps) {
          if (next.do === 'wait') nowMs += next.ms;
          if (next.do === 'reload') terms = { ...terms, failuresMax: next.failuresMax };
          if (next.do === 'enter') {
            assert.equal(health.allows('r', 'a'), model.allows(nowMs));
            const permit = health.enter('r', 'a');
            const call = model.enter(nowMs);
            assert.equal(permit !== null, call !== null);
            if (permit !== null && call !== null) underWay.push({ permit, call });
          }
          const told = next.do === 'tell' ? underWay[next.which] : undefined;
          if (next.do === 'tell' && told !== undefined) {
            if (next.verdict !== 'began') underWay.splice(next.which, 1);
            if (next.verdict === 'failed') told.permit.failed('x', next.kind);
            else told.permit[next.verdict]();
            model.tell(told.call, next.verdict, nowMs, terms);
          }
          const { state: shown, failuresInARow, probeAtMs } = health.status('r');
          assert.deepEqual({ state: shown, failuresInARow, probeAtMs }, model.status());
        }
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });
});

describe('the breakers of accounts on one route', () => {
  const transcripts: Record<string, string> = {
    'one account fails beside another: its own breaker opens, and nobody else notices': `
      b succeeds
      a 5 fails
      a is refused
      b is let through
      c is let through
      the route is closed, a
      b 20 succeeds
      after 9 s
      a is refused
      after 1 s
      a is let through`,
    'one account fails while another one only waits: the other one is not affected': `
      b calls
      a 5 fails
      a is refused
      b is let through
      b's call succeeds`,
    'failed responses of two accounts open it for all': `
      a 4 fails
      b fails
      a is refused
      b is refused
      c is refused
      the route is open`,
    'a success between them starts anew': `
      a 4 fails
      c succeeds
      b 4 fails
      c is let through
      the route is closed`,
    'the failures of one account count in a row, whatever others do in between': `
      a 4 fails
      b succeeds
      a fails
      the route is closed, a
      a is refused`,
    'a success of the account starts its own row anew': `
      b succeeds
      a 4 fails
      a succeeds
      a 4 fails
      a is let through`,
    'failures of the connection open it for all, whomever they meet': `
      b succeeds
      a 5 breaks
      a is refused
      b is refused
      the route is open`,
    'failures of the connection say nothing about an account': `
      b succeeds
      a 4 breaks
      b succeeds
      a 4 breaks
      b succeeds
      a 4 fails
      a is let through`,
    'refusals of the operator that one account alone meets keep that account out, and nobody else': `
      b succeeds
      a 5 meets 401
      a is refused
      b is let through
      c is let through
      the route is closed, a`,
    'refusals of the operator that two accounts meet open it for all': `
      b succeeds
      a 4 meets 401
      b meets 401
      a is refused
      c is refused
      the route is open`,
    'refusals of the operator that two accounts meet say nothing about an account': `
      b meets 401
      a 2 meets 401
      c succeeds
      a 4 fails
      a is let through`,
    'a success between refusals of the operator starts anew: the account is to blame that meets them all the same': `
      b meets 401
      c succeeds
      a 5 meets 401
      b is let through
      the route is closed, a`,
    'refusals of the operator that the only account meets open it, until another account comes': `
      a 5 meets 401
      the route is open, a
      a is refused
      b is let through
      b meets 401
      c is refused`,
    'the probe of a route that meets a refusal of the operator, as another account did lately, keeps all out': `
      a 4 meets 401
      b meets 401
      after 10 s
      a meets 401
      a is refused
      b is refused
      after 9 s
      c is refused
      after 1 s
      c is let through`,
    'such a probe keeps one account out if no other account met one for a minute': `
      a 4 meets 401
      b meets 401
      after 61 s
      a meets 401
      a is refused
      b is let through`,
    'if nobody else called for a minute, the route counts as broken': `
      b succeeds
      after 60 s
      a 4 fails
      after 1 s
      a fails
      the route is open, a
      a is refused`,
    'if somebody else called within the minute, it does not': `
      b succeeds
      after 60 s
      a 5 fails
      the route is closed, a`,
    'an account that comes to a route that is broken for the only other one is let through, and shows that it works': `
      a 5 fails
      the route is open, a
      b is let through
      b succeeds
      the route is closed, a
      a is refused
      b 20 succeeds`,
    'an account that comes to a route that is broken for the only other one may show that it is: then it is broken for all': `
      a 5 fails
      b fails
      the route is open, a
      b is refused
      c is refused`,
    'the probe of an account closes its breaker': `
      b succeeds
      a 5 fails
      after 10 s
      a calls
      a is refused
      b is let through
      a's call succeeds
      a is let through
      the route is closed`,
    'the probe of an account that fails opens its breaker again': `
      b succeeds
      a 5 fails
      after 10 s
      a fails
      the route is closed, a
      a is refused
      b is let through
      after 9 s
      a is refused
      after 1 s
      a succeeds
      a 4 fails
      a is let through`,
    'the probe of a route that fails by its call keeps one account out, and the next account sends a probe at once': `
      a 4 fails
      b fails
      after 10 s
      a fails
      a is refused
      b calls
      c is refused
      b's call succeeds
      c is let through
      the route is closed`,
    'two probes of different accounts that fail keep all out': `
      a 4 fails
      b fails
      after 10 s
      a fails
      c fails
      a is refused
      b is refused
      c is refused
      after 10 s
      b is let through`,
    'a probe that meets no connection keeps all out': `
      a 5 breaks
      after 10 s
      a breaks
      b is refused`,
    'a probe that takes long keeps its own account out, and others until it is time for another one': `
      a 4 fails
      b fails
      after 10 s
      a calls
      b is refused
      after 9 s
      b is refused
      after 1 s
      a is refused
      b is let through
      b succeeds
      the route is closed`,
    'a probe that took long and then failed does not put off the one that followed': `
      a 4 fails
      b fails
      after 10 s
      a calls
      after 10 s
      b calls
      a's call fails
      c is refused
      b's call succeeds
      c is let through`,
    'a probe that took long may still succeed, whoever followed': `
      a 4 fails
      b fails
      after 10 s
      a calls
      after 10 s
      b calls
      a's call succeeds
      c is let through
      b's call fails
      c is let through`,
  };
  for (const [what, transcript] of Object.entries(transcripts)) it(what, () => play(transcript));

  it('never refuse an account while only the calls of another one fail, whatever they do', () => {
    const step = fc.oneof(
      { arbitrary: fc.constant({ do: 'bad' } as const), weight: 3 },
      {
        arbitrary: fc.record({
          do: fc.constant('end' as const),
          verdict: fc.constantFrom('failed', 'ended', 'began'),
          kind: fc.constantFrom<FailureKind>('response', 'operator'),
        }),
        weight: 4,
      },
      { arbitrary: fc.constant({ do: 'good' } as const), weight: 1 },
      { arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 10_000, 61_000) }), weight: 2 },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        let nowMs = START_MS;
        const health = new RouteHealth({ nowMs: () => nowMs }, () => ({ failuresMax: 2, probeAfterMs: 10_000 }));
        const bad: RoutePermit[] = [];
        const good: RoutePermit[] = [];
        for (const next of steps) {
          if (next.do === 'wait') nowMs += next.ms;
          else if (next.do === 'bad') {
            const permit = health.enter('r', 'bad');
            if (permit !== null) bad.push(permit);
          } else if (next.do === 'good') {
            good.push(health.enter('r', 'good') ?? assert.fail('refused'));
            if (good.length > 2) good.shift()!.succeeded();
          } else if (next.verdict === 'failed') bad.shift()?.failed('x', next.kind);
          else if (next.verdict === 'ended') bad.shift()?.ended();
          else bad[0]?.began();
          assert.equal(health.allows('r', 'good'), true);
        }
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('are so many at most: the account that called least recently is forgotten', () => {
    const health = new RouteHealth({ nowMs: () => START_MS }, () => ({ failuresMax: 1, probeAfterMs: 10_000 }));
    for (let i = 0; i <= ACCOUNT_BREAKERS_MAX; i++) {
      health.enter('r', 'innocent')!.succeeded();
      health.enter('r', `account-${i}`)!.failed('x', 'response');
    }
    const { accounts } = health.status('r');
    assert.deepEqual([accounts.length, accounts[0]!.accountId], [ACCOUNT_BREAKERS_MAX, 'account-1']);
    assert.deepEqual([health.allows('r', 'account-0'), health.allows('r', 'account-1')], [true, false]);
  });

  it('say when an account may try again, and whether others may call', () => {
    let nowMs = START_MS;
    const health = new RouteHealth({ nowMs: () => nowMs }, () => ({ failuresMax: 1, probeAfterMs: 10_000 }));
    health.enter('r', 'b')!.succeeded();
    health.enter('r', 'a')!.failed('x', 'response');
    nowMs += 1_000;
    assert.deepEqual([health.retryAtMs('r', 'a'), health.retryAtMs('r', 'b')], [START_MS + 10_000, nowMs]);
    assert.deepEqual([health.isClosedForAccountOnly('r', 'a'), health.isClosedForAccountOnly('r', 'b')], [true, false]);
    health.enter('r', 'b')!.failed('x', 'connection');
    assert.deepEqual([health.retryAtMs('r', 'a'), health.retryAtMs('r', 'b')], [nowMs + 10_000, nowMs + 10_000]);
    assert.equal(health.isClosedForAccountOnly('r', 'a'), false);
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

  status() {
    return {
      state: this.#state,
      failuresInARow: this.#failures,
      probeAtMs: this.#state === 'open' ? this.#probeAtMs : null,
    };
  }
}
