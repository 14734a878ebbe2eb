import { describe, it } from 'node:test';
import { codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';

const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 24 * 3_600_000;

/** 100 tokens in three days; the subscription ends one day into its third period. */
function scene(): TranscriptScene {
  const account = new MemoryAccount({ plans: [planOf({ quotaTokens: 100, periodDays: 3 })] });
  account.subscribe('plan', START_MS, START_MS + 7 * DAY_MS);
  return {
    account,
    startMs: START_MS,
    call: (callId, parts) => codingCall(callId, { tokens: Number(parts.get('tokens') ?? 0) }),
    state: ({ subscription: { periodBeganAtMs, periodTokens, periodReservedTokens } }) =>
      `${(periodBeganAtMs - START_MS) / (3 * DAY_MS)}:${periodTokens}+${periodReservedTokens}`,
    operations: {
      terms: (parts) => {
        account.plans = [planOf({ quotaTokens: 100, periodDays: Number(parts.get('days')) })];
      },
    },
  };
}

describe('the token quota', () => {
  it('reserves the maximum use of a call, and counts its actual use', () => {
    runTranscript(
      `
      time     operation  call  with       result                           state
      0d00:00  asks       a     tokens=60  admitted:999                     0:0+60
      0d00:00  asks       b     tokens=60  admitted:998                     0:0+120
      0d00:00  asks       c     tokens=1   packageConcurrencyLimited@soon   0:0+120
      0d00:00  counts     a     tokens=10  -                                0:10+60
      0d00:00  asks       c     tokens=30  admitted:997                     0:10+90
      0d00:00  asks       d     tokens=0   packageConcurrencyLimited@soon   0:10+90
      0d00:00  fails      b     -          -                                0:10+30
      0d00:00  fails      b     -          -                                0:10+30
      0d00:00  counts     c     tokens=89  -                                0:99+0
      0d00:00  asks       d     tokens=50  admitted:997                     0:99+50
      0d00:00  counts     d     tokens=40  -                                0:139+0
      0d00:00  asks       e     tokens=0   packageTokensExhausted@3d00:00   0:139+0
      `,
      scene(),
    );
  });

  it('resets with each period, to the millisecond, and no later than the subscription ends', () => {
    runTranscript(
      `
      time            operation  call  with        result                          state
      0d00:00         asks       a     tokens=1    admitted:999                    0:0+1
      0d00:00         counts     a     tokens=100  -                               0:100+0
      2d23:59:59.999  asks       b     tokens=1    packageTokensExhausted@3d00:00  0:100+0
      3d00:00         asks       b     tokens=1    admitted:998                    1:0+1
      6d00:00         asks       c     tokens=1    admitted:997                    2:0+1
      6d00:00         counts     c     tokens=100  -                               2:100+0
      6d00:00         asks       d     tokens=1    packageTokensExhausted@7d00:00  2:100+0
      7d00:00         asks       d     tokens=1    packageExpired                  2:100+0
      `,
      scene(),
    );
  });

  it('resets by the terms in force, even if periods were shorter or longer before', () => {
    runTranscript(
      `
      time     operation  call  with        result                          state
      0d00:00  asks       a     tokens=1    admitted:999                    0:0+1
      0d00:00  counts     a     tokens=60   -                               0:60+0
      5d12:00  terms      -     days=1      -                               0:60+0
      6d00:00  asks       b     tokens=1    admitted:998                    2:0+1
      6d00:00  counts     b     tokens=100  -                               2:100+0
      6d00:00  asks       c     tokens=1    packageTokensExhausted@7d00:00  2:100+0
      6d00:00  terms      -     days=2      -                               2:100+0
      6d00:00  asks       c     tokens=1    packageTokensExhausted@7d00:00  2:100+0
      6d00:00  terms      -     days=30     -                               2:100+0
      6d12:00  asks       c     tokens=1    packageTokensExhausted@7d00:00  2:100+0
      `,
      scene(),
    );
  });

  it('resets if a clock was in the future, and ignores ends of calls of another count', () => {
    runTranscript(
      `
      time     operation  call  with       result        state
      0d00:00  asks       a     tokens=5   admitted:999  0:0+5
      6d00:00  asks       b     tokens=70  admitted:998  2:0+70
      0d00:00  asks       c     tokens=9   admitted:997  0:0+9
      0d00:00  counts     a     tokens=50  -             0:0+9
      6d00:00  asks       d     tokens=8   admitted:996  2:0+8
      6d00:00  counts     b     tokens=70  -             2:0+8
      6d00:00  counts     d     tokens=3   -             2:3+0
      `,
      scene(),
    );
  });

  it('is used and given back in the period in which the call was admitted', () => {
    runTranscript(
      `
      time            operation  call  with        result        state
      2d23:59:59.999  asks       a     tokens=70   admitted:999  0:0+70
      2d23:59:59.999  asks       b     tokens=20   admitted:998  0:0+90
      3d00:00         asks       c     tokens=5    admitted:997  1:0+5
      3d00:00         counts     a     tokens=100  -             1:0+5
      3d00:00         fails      b     -           -             1:0+5
      2d23:59:59.999  asks       d     tokens=7    admitted:997  1:0+12
      3d00:00         counts     d     tokens=3    -             1:3+5
      `,
      scene(),
    );
  });
});
