import { describe, it } from 'node:test';
import { balanceCall, codingCall, KEY, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import type { KeyLimits } from '../../accounts/key-limit-tables.ts';

/** A Saturday: the week ends at `2d00:00`, the month, in a leap year, at `4d00:00`. */
const START_MS = Date.UTC(2028, 1, 26);
const DAY_MS = 24 * 3_600_000;

/** The state: spent in the day, the week, the month and in total, plus the reserved amount. */
function scene(limits: Partial<KeyLimits>, startMs = START_MS): TranscriptScene {
  const account = new MemoryAccount({ balanceNano: 1_000n, plans: [planOf()] });
  account.subscribe('plan', startMs - DAY_MS, startMs + 90 * DAY_MS);
  account.limitKey(limits);
  return {
    account,
    startMs,
    call(callId, parts) {
      const key = { keyId: KEY, isKeyLimited: true };
      if (parts.has('plan')) return codingCall(callId, {}, key);
      return balanceCall(callId, { ...key, amountNano: BigInt(parts.get('amount') ?? 1) });
    },
    state({ state: { keys } }) {
      const { spentNano, weekSpentNano, monthSpentNano, totalSpentNano, reservedNano } = keys.get(KEY)!;
      return `${spentNano}/${weekSpentNano}/${monthSpentNano}/${totalSpentNano}+${reservedNano}`;
    },
  };
}

describe('the budgets of a key', () => {
  it('of a week end with its Sunday, and reservations count', () => {
    runTranscript(
      `
      time            operation  call  with      result                              state
      0d00:00         asks       a     amount=8  admitted:992                        0/0/0/0+8
      0d00:00         asks       b     amount=8  admitted:984                        0/0/0/0+16
      0d00:00         asks       c     -         keyWeeklySpendLimitReached@soon     0/0/0/0+16
      0d00:00         asks       d     plan=1    admitted:999                        0/0/0/0+16
      0d00:00         counts     a     charge=6  -                                   6/6/6/6+8
      1d00:00         counts     b     charge=5  -                                   5/11/11/11+0
      1d23:59:59.999  asks       c     -         keyWeeklySpendLimitReached@2d00:00  5/11/11/11+0
      2d00:00         asks       c     amount=2  admitted:998                        0/0/11/11+2
      2d00:00         fails      c     -         -                                   0/0/11/11+0
      `,
      scene({ weeklySpendCapNano: 10n }),
    );
  });

  it('of a month end with its last day, even a leap day', () => {
    runTranscript(
      `
      time            operation  call  with       result                               state
      0d00:00         asks       a     -          admitted:999                         0/0/0/0+1
      0d00:00         counts     a     charge=9   -                                    9/9/9/9+0
      3d23:59:59.999  asks       b     -          admitted:999                         0/0/9/9+1
      3d23:59:59.999  counts     b     charge=1   -                                    1/1/10/10+0
      3d23:59:59.999  asks       c     -          keyMonthlySpendLimitReached@4d00:00  1/1/10/10+0
      4d00:00         asks       c     -          admitted:999                         0/1/0/10+1
      4d00:00         counts     c     charge=20  -                                    20/21/20/30+0
      4d00:00         asks       d     -          keyMonthlySpendLimitReached@35d00:00  20/21/20/30+0
      `,
      scene({ monthlySpendCapNano: 10n }),
    );
  });

  it('in total never free by waiting', () => {
    runTranscript(
      `
      time      operation  call  with       result                          state
      0d00:00   asks       a     amount=10  admitted:990                    0/0/0/0+10
      0d00:00   asks       b     -          keyTotalSpendLimitReached@soon  0/0/0/0+10
      0d00:00   counts     a     charge=9   -                               9/9/9/9+0
      40d00:00  asks       b     -          admitted:999                    0/0/0/9+1
      40d00:00  counts     b     charge=1   -                               1/1/1/10+0
      40d00:00  asks       c     -          keyTotalSpendLimitReached       1/1/1/10+0
      80d00:00  asks       c     -          keyTotalSpendLimitReached       1/1/1/10+0
      80d00:00  asks       c     plan=1     admitted:999                    0/0/0/10+0
      `,
      scene({ totalSpendCapNano: 10n }),
    );
  });

  it('name the one that frees last, and an exhausted one before one that only calls in flight fill', () => {
    runTranscript(
      `
      time      operation  call  with       result                                state
      0d00:00   asks       a,b   amount=10  admitted:990,keyTotalSpendLimitReached@soon  0/0/0/0+10
      0d00:00   counts     a     charge=5   -                                     5/5/5/5+0
      0d00:00   asks       b     -          keyMonthlySpendLimitReached@4d00:00   5/5/5/5+0
      4d00:00   asks       b     amount=9   admitted:991                          0/0/0/5+9
      4d00:00   counts     b     charge=3   -                                     3/3/3/8+0
      4d00:00   asks       c     -          keyWeeklySpendLimitReached@9d00:00    3/3/3/8+0
      `,
      scene({ totalSpendCapNano: 10n, monthlySpendCapNano: 5n, weeklySpendCapNano: 3n, dailySpendCapNano: 3n }),
    );
  });

  it('count in the later week and month if the clock goes back', () => {
    runTranscript(
      `
      time            operation  call  with      result                               state
      4d00:00         asks       a     -         admitted:999                         0/0/0/0+1
      3d23:59:59.999  counts     a     charge=4  -                                    4/4/4/4+0
      3d23:59:59.999  asks       b     -         admitted:999                         4/4/4/4+1
      4d00:00         counts     b     charge=6  -                                    10/10/10/10+0
      `,
      scene({ monthlySpendCapNano: 10n }),
    );
  });
});
