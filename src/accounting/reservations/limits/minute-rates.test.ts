import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { balanceCall, codingCall, KEY, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import { propertyRuns } from '../../../../test/support/scope.ts';
import { rateName } from '../account-state.ts';
import type { RateDefaults } from '../rate-defaults.ts';
import type { ReservationRequest } from '../reservation.ts';
import { ONE } from './rate-bucket.ts';

const START_MS = Date.UTC(2026, 10, 20, 4);
const DAY_MS = 24 * 3_600_000;

function accountWith(): MemoryAccount {
  const account = new MemoryAccount({ balanceNano: 1_000n, plans: [planOf({ models: new Set(['test', 'other']) })] });
  account.subscribe('plan', START_MS - DAY_MS, START_MS + 20 * DAY_MS);
  return account;
}

/** The state: used requests and tokens of a limit when it was last counted. */
function scene(account: MemoryAccount, shown = { keyId: '', model: '' }): TranscriptScene {
  return {
    account,
    startMs: START_MS,
    call(callId, parts) {
      const call = {
        keyId: parts.get('key') ?? KEY,
        model: parts.get('model') ?? 'test',
        tokens: Number(parts.get('tokens') ?? 0),
      };
      return parts.has('plan') ? codingCall(callId, {}, call) : balanceCall(callId, { ...call, amountNano: 0n });
    },
    state({ state: { rates } }) {
      const rate = rates.get(rateName(shown));
      return rate === undefined ? '-' : `${rate.requestsUsed / ONE},${rate.tokensUsed / ONE}`;
    },
    operations: {
      limit: (parts) => account.limitRate({ requestsMax: Number(parts.get('requests')) }, shown),
    },
  };
}

describe('requests per minute', () => {
  it('allow a burst and then one request whenever one has drained, on balance and plan alike', () => {
    const account = accountWith();
    account.limitRate({ requestsMax: 3 });
    runTranscript(
      `
      time            operation  call   with    result                                            state
      0d00:00         asks       a,b    -       admitted:1000,admitted:1000                       2,0
      0d00:00         asks       c,d    plan=1  admitted:999,rateLimitExceeded@0d00:00:20         3,0
      0d00:00:19.999  asks       d      -       rateLimitExceeded@0d00:00:20                      3,0
      0d00:00:20      asks       d,e    -       admitted:1000,rateLimitExceeded@0d00:00:40        3,0
      0d00:00:30      fails      d      -       -                                                 3,0
      0d00:00:30      asks       e      -       rateLimitExceeded@0d00:00:40                      3,0
      0d00:00:50      asks       e      -       admitted:1000                                     2.5,0
      0d00:05         asks       f,g,h  -       admitted:1000,admitted:1000,admitted:1000         3,0
      0d00:05         asks       i      -       rateLimitExceeded@0d00:05:20                      3,0
      0d00:05         limit      -      requests=6  -                                             3,0
      0d00:05         asks       i,j,k  -       admitted:1000,admitted:1000,admitted:1000         6,0
      0d00:05         limit      -      requests=2  -                                             6,0
      0d00:05         asks       l      -       rateLimitExceeded@0d00:07:30                      6,0
      `,
      scene(account),
    );
  });

  it('do not drain while the clock is up to a minute behind, and are reset after a clock that was in the future', () => {
    const account = accountWith();
    account.limitRate({ requestsMax: 2 });
    runTranscript(
      `
      time      operation  call  with  result                                      state
      0d00:01   asks       a     -     admitted:1000                               1,0
      0d00:00   asks       b,c   -     admitted:1000,rateLimitExceeded@0d00:01:30  2,0
      0d00:01   asks       c     -     rateLimitExceeded@0d00:01:30                2,0
      100d00:00 asks       d     -     admitted:1000                               1,0
      99d23:58  asks       e,f   -     admitted:1000,admitted:1000                 2,0
      0d00:02   asks       g     -     admitted:1000                               1,0
      `,
      scene(account),
    );
  });

  it('of a key or a model do not limit others, and the refusal names the key and the model', () => {
    const account = accountWith();
    account.limitRate({ requestsMax: 9 });
    account.limitRate({ requestsMax: 1 }, { keyId: KEY });
    account.limitRate({ requestsMax: 2 }, { model: 'other' });
    account.limitRate({ requestsMax: 1 }, { keyId: 'key_2', model: 'other' });
    const ask = (callId: string, parts: Partial<ReservationRequest>) => {
      const [admission] = account.admit([balanceCall(callId, { amountNano: 0n, ...parts })], START_MS);
      if (admission!.isAdmitted) return 'admitted';
      const { of, max, isOfKey, model } = admission!.refusal.rate!;
      return { of, max, isOfKey, model };
    };
    assert.equal(ask('a', {}), 'admitted');
    assert.deepEqual(ask('b', {}), { of: 'requests', max: 1, isOfKey: true, model: null });
    assert.equal(ask('c', { keyId: 'key_2', model: 'other' }), 'admitted');
    assert.deepEqual(ask('d', { keyId: 'key_2', model: 'other' }), {
      of: 'requests',
      max: 1,
      isOfKey: true,
      model: 'other',
    });
    assert.equal(ask('e', { keyId: 'key_3', model: 'other' }), 'admitted');
    assert.deepEqual(ask('f', { keyId: 'key_3', model: 'other' }), {
      of: 'requests',
      max: 2,
      isOfKey: false,
      model: 'other',
    });
    assert.equal(ask('g', { keyId: 'key_3' }), 'admitted');
    assert.equal(account.state.rates.get(rateName({ keyId: '', model: '' }))!.requestsUsed, 4 * ONE);
  });
});

describe('tokens per minute', () => {
  it('reserve what the call may use, at most the limit, and are corrected by its use', () => {
    const account = accountWith();
    account.limitRate({ tokensMax: 600 });
    runTranscript(
      `
      time            operation  call  with         result                            state
      0d00:00         asks       a     tokens=500   admitted:1000                     0,500
      0d00:00         asks       b     tokens=9000  admitted:1000                     0,1100
      0d00:00         asks       c     tokens=1     rateLimitExceeded@0d00:00:50.001  0,1100
      0d00:00         counts     a     tokens=100   -                                 0,700
      0d00:00:10      asks       c     tokens=1     rateLimitExceeded@0d00:00:10.001  0,700
      0d00:00:10.001  asks       c     tokens=1     admitted:1000                     0,600.99
      0d00:00:10.001  counts     b     tokens=1800  -                                 0,1800.99
      0d00:00:10.001  fails      c     -            -                                 0,1799.99
      0d00:01         asks       d     tokens=1     rateLimitExceeded@0d00:02:10.001  0,1799.99
      0d00:09         asks       d     tokens=7     admitted:1000                     0,7
      0d00:20         fails      d     -            -                                 0,0
      `,
      scene(account),
    );
  });

  // Otherwise calls that run for several minutes would let several times the limit through.
  it('are given back only if they have not drained: drained tokens have admitted others already', () => {
    const account = accountWith();
    account.limitRate({ tokensMax: 6_000 });
    const held = Array.from({ length: 7 }, (_, i) => `held_${i}`);
    const call = (callId: string) => balanceCall(callId, { amountNano: 0n, tokens: 6_000 });
    for (const [i, callId] of held.entries()) {
      assert.ok(account.admit([call(callId)], START_MS + i * 60_000)[0]!.isAdmitted);
    }
    const endMs = START_MS + 10 * 60_000;
    let through = 0;
    for (const [i, callId] of held.entries()) {
      account.end(callId, { counts: true, tokens: 0, keyChargeNano: 0n, rateTokens: 0 }, endMs);
      if (account.admit([call(`next_${i}`)], endMs)[0]!.isAdmitted) through += 6_000;
    }
    assert.equal(through, 6_000);
  });

  it('drain in order: tokens that were used before a call drain first', () => {
    const account = accountWith();
    account.limitRate({ tokensMax: 600 });
    runTranscript(
      `
      time        operation  call  with        result         state
      0d00:00     asks       a     tokens=300  admitted:1000  0,300
      0d00:00     asks       b     tokens=200  admitted:1000  0,500
      0d00:00:40  asks       c     tokens=50   admitted:1000  0,150
      0d00:00:40  fails      a     -           -              0,150
      0d00:00:40  fails      b     -           -              0,50
      0d00:00:40  fails      c     -           -              0,0
      `,
      scene(account),
    );
  });

  // Otherwise one large call would never be admitted.
  it('admit a call of any size while anything is left', () => {
    const account = accountWith();
    account.limitRate({ tokensMax: 10 });
    const [first, next] = account.admit(
      ['a', 'b'].map((callId) => balanceCall(callId, { amountNano: 0n, tokens: 1_000_000 })),
      START_MS,
    );
    assert.equal(first!.isAdmitted, true);
    assert.equal(!next!.isAdmitted && next!.refusal.retryAt, START_MS + 1);
  });
});

describe('limits per minute of the configuration', () => {
  const rateDefaults: RateDefaults = {
    all: { requestsMax: 2, tokensMax: null },
    models: new Map([['other', { requestsMax: 1, tokensMax: null }]]),
  };

  it('apply to each account without its own, and count from the first call', () => {
    const account = accountWith();
    account.rateDefaults = rateDefaults;
    runTranscript(
      `
      time     operation  call  with         result                                      state
      0d00:00  asks       a     model=other  admitted:1000                               1,0
      0d00:00  asks       b     model=other  rateLimitExceeded@0d00:01                   1,0
      0d00:00  asks       c,d   -            admitted:1000,rateLimitExceeded@0d00:00:30  2,0
      0d00:00  limit      -     requests=9   -                                           2,0
      0d00:00  asks       d     -            admitted:1000                               3,0
      `,
      scene(account),
    );
  });

  it('report the remainder of the tightest limit', () => {
    const account = accountWith();
    account.rateDefaults = rateDefaults;
    account.limitRate({ tokensMax: 100 }, { keyId: KEY });
    const [admission] = account.admit([balanceCall('a', { amountNano: 0n, tokens: 30, model: 'other' })], START_MS);
    assert.deepEqual(admission!.isAdmitted && admission!.rates, {
      requests: { limit: 1, remaining: 0, resetAtMs: START_MS + 60_000 },
      tokens: { limit: 100, remaining: 70, resetAtMs: START_MS + 18_000 },
    });
  });
});

describe('a bucket', () => {
  const asked = fc.array(
    fc.record({ afterMs: fc.nat(20_000), tokens: fc.nat(400), used: fc.nat(900), endsAfter: fc.nat(4) }),
    { minLength: 5, maxLength: 60 },
  );

  it('admits no more than its size and drain allow, and returns the next free millisecond', () => {
    const seen = { admitted: 0, requests: 0, tokens: 0 };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 900 }),
        asked,
        (requestsMax, tokensMax, calls) => {
          const account = accountWith();
          account.limitRate({ requestsMax });
          account.limitRate({ tokensMax }, { keyId: KEY });
          const admittedAtMs: number[] = [];
          const open: { callId: string; used: number; left: number }[] = [];
          let nowMs = START_MS;
          for (const [i, { afterMs, tokens, used, endsAfter }] of calls.entries()) {
            nowMs += afterMs;
            const request = balanceCall(`call_${i}`, { amountNano: 0n, tokens });
            const before = structuredClone(account.state.rates);
            const [admission] = account.admit([request], nowMs);
            if (admission!.isAdmitted) {
              seen.admitted++;
              admittedAtMs.push(nowMs);
              open.push({ callId: request.callId, used, left: endsAfter });
            } else {
              const { retryAt, rate } = admission!.refusal;
              seen[rate!.of]++;
              assert.deepEqual(account.state.rates, before);
              for (const [atMs, isAdmitted] of [
                [Number(retryAt) - 1, false],
                [Number(retryAt), true],
              ] as const) {
                const copy = accountWith();
                for (const [name, state] of account.state.rates) copy.state.rates.set(name, { ...state });
                assert.equal(copy.admit([request], atMs)[0]!.isAdmitted, isAdmitted);
              }
            }
            for (const call of open.splice(0)) {
              if (call.left > 0) open.push({ ...call, left: call.left - 1 });
              else
                account.end(call.callId, { counts: true, tokens: 0, keyChargeNano: 0n, rateTokens: call.used }, nowMs);
            }
          }
          for (const [i, fromMs] of admittedAtMs.entries()) {
            for (let to = i; to < admittedAtMs.length; to++) {
              const most = requestsMax + (requestsMax * (admittedAtMs[to]! - fromMs)) / 60_000;
              assert.ok(to - i + 1 <= most);
            }
          }
        },
      ),
      { numRuns: propertyRuns(500) },
    );
    assert.ok(
      Object.values(seen).every((count) => count > 20),
      JSON.stringify(seen),
    );
  });
});
