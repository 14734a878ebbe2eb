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
 * A script of what several accounts, each named by a letter, do on one route. Lines:
 * - `a fails`, `a 5 fails`: calls of account a receive an error response. `a breaks`: the connection fails. `a meets 401`: the provider refuses the
 *   operator's credential or account.
 * - `a succeeds`
 * - `a calls`: starts a call. `a's call fails`, `a's call succeeds`, `a's call ends`: ends the oldest one, the last without a result. `a's call
 *   begins`: the first data of its success.
 * - `a is refused`, `a is let through`: expected result of a new call.
 * - `after 10 s`
 * - `the route is open`: expected status, followed by the accounts whose breakers are not closed; `4 failures in a row`.
 */
function play(transcript: string): void {
  let nowMs = START_MS;
  const health = new RouteHealth({ nowMs: () => nowMs }, () => ({ failuresMax: 5, probeAfterMs: 10_000 }));
  const inFlight = new Map<string, RoutePermit[]>();
  const enter = (accountId: string, line: string): RoutePermit =>
    health.enter('r', accountId) ?? assert.fail(`refused: ${line}`);
  for (const line of transcript
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '')) {
    const [who = '', ...words] = line.split(/[ ,]+/);
    const count = /^[\d.]+$/.test(words[0] ?? '') ? Number(words.shift()) : 1;
    const what = words.join(' ');
    const calls = inFlight.get(who.charAt(0)) ?? [];
    if (who === 'after') nowMs += count * 1000;
    else if (what === 'calls') inFlight.set(who, [...calls, ...Array.from({ length: count }, () => enter(who, line))]);
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

  it('is closed on a route without history', () => {
    assert.deepEqual(health.status('r'), healthy);
    assert.equal(health.allows('r', 'a'), true);
  });

  it('shows the last failure and the time of the next probe, but not while the probe is in flight', () => {
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

  it('counts only the first result of a call: a later one does not end the probe of another call', () => {
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

  it('is separate for each route', () => {
    fail(5, 'a');
    fail(4, 'b');
    assertRefused('a');
    assert.equal(health.allows('b', 'a'), true);
    assert.deepEqual(health.status('c'), healthy);
  });

  const transcripts: Record<string, string> = {
    'a success resets the count of consecutive failures': `
      a 4 fails
      a succeeds
      a 4 fails
      the route is closed
      a fails
      the route is open, a`,
    'a call without a result is neither a failure nor a success': `
      a 4 fails
      a calls
      a's call ends
      4 failures in a row
      a fails
      the route is open, a`,
    'a probe is let through exactly at its scheduled time': `
      a 5 fails
      after 9.999 s
      a is refused
      after 0.001 s
      a is let through
      the route is open, a
      a calls
      the route is probing, a`,
    'there is only one probe; other calls are refused while it is in flight': `
      a 5 fails
      after 10 s
      a calls
      a is refused
      after 3600 s
      a is refused
      a's call succeeds
      a 2 calls
      a is let through`,
    'a successful probe closes the breaker and resets the failure count': `
      a 5 fails
      after 10 s
      a succeeds
      0 failures in a row
      a 4 fails
      the route is closed`,
    'a failed probe opens the breaker again for the full delay': `
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
    'a probe without a result leaves the breaker open, and the next call is the probe': `
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
    'a probe closes the breaker as soon as its success begins, so other calls do not wait for the end of a long stream': `
      a 5 fails
      after 10 s
      a calls
      a's call begins
      the route is closed
      a calls
      a's call succeeds
      the route is closed`,
    'a probe whose success breaks off counts as one ordinary failure': `
      a 5 fails
      after 10 s
      a calls
      a's call begins
      a's call fails
      1 failures in a row
      the route is closed`,
    'the beginning of a success has no effect unless the call is a probe': `
      a 4 fails
      a calls
      a's call begins
      4 failures in a row
      a's call fails
      the route is open, a`,
    'calls started before the breaker opened neither close it nor delay the probe': `
      a 2 calls
      a 5 fails
      a's call succeeds
      the route is open, a
      after 9 s
      a's call fails
      after 1 s
      a is let through`,
    'calls started before the breaker opened neither end nor decide a probe': `
      a 3 calls
      a 5 fails
      after 10 s
      a calls
      a's call fails
      a's call succeeds
      a's call ends
      the route is probing, a
      a is refused`,
    'calls started before the breaker opened do not reopen it after a successful probe': `
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

  describe('with settings changed by a reload', () => {
    it('uses them from the next failure', () => {
      fail(3);
      terms = { failuresMax: 2, probeAfterMs: 1_000 };
      assert.equal(health.status('r').state, 'closed');
      fail(1);
      assert.equal(health.status('r').probeAtMs, START_MS + 1_000);
    });

    it('keeps the time of a scheduled probe', () => {
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
    it('forgets removed routes and keeps the health of the others', () => {
      fail(5, 'gone');
      fail(5, 'r');
      fail(2, 'other');
      health.keepOnly(new Set(['r', 'other', 'new']));
      assert.deepEqual(health.status('gone'), healthy);
      assertRefused('r');
      assert.equal(health.status('other').failuresInARow, 2);
    });

    it('ignores calls over a removed route that is added again', () => {
      const early = enter();
      health.keepOnly(new Set());
      early.failed('upstream_error', 'response');
      assert.deepEqual(health.status('r'), healthy);
    });
  });

  it('behaves like a single breaker for the only account, for any order of events', () => {
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
        const inFlight: { permit: RoutePermit; call: ModelCall }[] = [];
        for (const next of steps) {
          if (next.do === 'wait') nowMs += next.ms;
          if (next.do === 'reload') terms = { ...terms, failuresMax: next.failuresMax };
          if (next.do === 'enter') {
            assert.equal(health.allows('r', 'a'), model.allows(nowMs));
            const permit = health.enter('r', 'a');
            const call = model.enter(nowMs);
            assert.equal(permit !== null, call !== null);
            if (permit !== null && call !== null) inFlight.push({ permit, call });
          }
          const ended = next.do === 'tell' ? inFlight[next.which] : undefined;
          if (next.do === 'tell' && ended !== undefined) {
            if (next.verdict !== 'began') inFlight.splice(next.which, 1);
            if (next.verdict === 'failed') ended.permit.failed('x', next.kind);
            else ended.permit[next.verdict]();
            model.tell(ended.call, next.verdict, nowMs, terms);
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
    'if one of two accounts fails, only its own breaker opens': `
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
    'a pending call of another account is not affected': `
      b calls
      a 5 fails
      a is refused
      b is let through
      b's call succeeds`,
    'error responses of two accounts open the breaker for all': `
      a 4 fails
      b fails
      a is refused
      b is refused
      c is refused
      the route is open`,
    'a success between them resets the count': `
      a 4 fails
      c succeeds
      b 4 fails
      c is let through
      the route is closed`,
    'failures of an account count as consecutive, whatever other accounts do in between': `
      a 4 fails
      b succeeds
      a fails
      the route is closed, a
      a is refused`,
    'a success of the account resets its own count': `
      b succeeds
      a 4 fails
      a succeeds
      a 4 fails
      a is let through`,
    'connection failures open the breaker for all, whichever accounts they affect': `
      b succeeds
      a 5 breaks
      a is refused
      b is refused
      the route is open`,
    'connection failures do not count against an account': `
      b succeeds
      a 4 breaks
      b succeeds
      a 4 breaks
      b succeeds
      a 4 fails
      a is let through`,
    'refusals of the operator that affect one account block only that account': `
      b succeeds
      a 5 meets 401
      a is refused
      b is let through
      c is let through
      the route is closed, a`,
    'refusals of the operator that affect two accounts open the breaker for all': `
      b succeeds
      a 4 meets 401
      b meets 401
      a is refused
      c is refused
      the route is open`,
    'refusals of the operator that affect two accounts do not count against an account': `
      b meets 401
      a 2 meets 401
      c succeeds
      a 4 fails
      a is let through`,
    'a success between refusals of the operator resets the count: the account that is still refused is the cause': `
      b meets 401
      c succeeds
      a 5 meets 401
      b is let through
      the route is closed, a`,
    'refusals of the operator that affect the only account open the breaker until another account calls': `
      a 5 meets 401
      the route is open, a
      a is refused
      b is let through
      b meets 401
      c is refused`,
    "a probe that is refused like another account's recent call blocks all accounts": `
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
    'such a probe blocks one account if no other account was refused for a minute': `
      a 4 meets 401
      b meets 401
      after 61 s
      a meets 401
      a is refused
      b is let through`,
    'the route counts as failed if no other account called for a minute': `
      b succeeds
      after 60 s
      a 4 fails
      after 1 s
      a fails
      the route is open, a
      a is refused`,
    'the route does not count as failed if another account called within the minute': `
      b succeeds
      after 60 s
      a 5 fails
      the route is closed, a`,
    'if a route fails for its only account, another account is let through and can prove that it works': `
      a 5 fails
      the route is open, a
      b is let through
      b succeeds
      the route is closed, a
      a is refused
      b 20 succeeds`,
    'if a route fails for its only account, another account can prove that it fails for all': `
      a 5 fails
      b fails
      the route is open, a
      b is refused
      c is refused`,
    "the probe of an account closes the account's breaker": `
      b succeeds
      a 5 fails
      after 10 s
      a calls
      a is refused
      b is let through
      a's call succeeds
      a is let through
      the route is closed`,
    "a failed probe of an account reopens the account's breaker": `
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
    'a probe that fails because of its call blocks one account, and the next account may probe immediately': `
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
    'failed probes of two accounts block all accounts': `
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
    'a probe that fails to connect blocks all accounts': `
      a 5 breaks
      after 10 s
      a breaks
      b is refused`,
    'a slow probe blocks its own account, and others until the next probe is due': `
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
    'a slow probe that fails does not delay the next one': `
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
    'a slow probe may still succeed, whatever calls followed': `
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

  it('never refuse an account while only the calls of another one fail', () => {
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

  it('are limited in number: the least recently active account is forgotten', () => {
    const health = new RouteHealth({ nowMs: () => START_MS }, () => ({ failuresMax: 1, probeAfterMs: 10_000 }));
    for (let i = 0; i <= ACCOUNT_BREAKERS_MAX; i++) {
      health.enter('r', 'innocent')!.succeeded();
      health.enter('r', `account-${i}`)!.failed('x', 'response');
    }
    const { accounts } = health.status('r');
    assert.deepEqual([accounts.length, accounts[0]!.accountId], [ACCOUNT_BREAKERS_MAX, 'account-1']);
    assert.deepEqual([health.allows('r', 'account-0'), health.allows('r', 'account-1')], [true, false]);
  });

  it('report when an account may try again, and whether others may call', () => {
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

/** A model of the breaker with three explicit states, which marks all calls in flight when it opens. */
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
