import { describe, it } from 'node:test';
import { codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';

const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 24 * 3_600_000;

function scene(fiveHourCalls: number): TranscriptScene {
  const account = new MemoryAccount({ plans: [planOf({ fiveHourCalls })] });
  account.subscribe('plan', START_MS, START_MS + 30 * DAY_MS);
  return {
    account,
    startMs: START_MS,
    call: (callId) => codingCall(callId),
    // Expired slots are counted until an admission deletes them.
    state: ({ subscription }) => `${subscription.slots}`,
    operations: {
      limit: (parts) => {
        account.plans = [planOf({ fiveHourCalls: Number(parts.get('calls')) })];
      },
    },
  };
}

describe('the five-hour window', () => {
  it('frees each slot exactly five hours after it was taken, and returns that time until then', () => {
    runTranscript(
      `
      time            operation  call   with  result                                        state
      0d00:00         asks       a      -     admitted:2                                    1
      0d00:10         asks       b      -     admitted:1                                    2
      0d00:20:00.500  asks       c      -     admitted:0                                    3
      0d00:30         asks       d      -     packageFiveHourQuotaExhausted@0d05:00         3
      0d04:59:59.999  asks       d      -     packageFiveHourQuotaExhausted@0d05:00         3
      0d05:00         asks       d      -     admitted:0                                    3
      0d05:09:59.999  asks       e      -     packageFiveHourQuotaExhausted@0d05:10         3
      0d05:10         asks       e      -     admitted:0                                    3
      0d05:20:00.499  asks       f      -     packageFiveHourQuotaExhausted@0d05:20:00.500  3
      0d05:20:00.500  asks       f      -     admitted:0                                    3
      0d20:00         asks       g,h,i  -     admitted:2,admitted:1,admitted:0              3
      `,
      scene(3),
    );
  });

  it('takes its slots in order of arrival within a batch', () => {
    runTranscript(
      `
      time     operation  call     with  result                                                                                           state
      0d00:00  asks       a        -     admitted:1                                                                                       1
      0d01:00  asks       b,c,d    -     admitted:0,packageFiveHourQuotaExhausted@0d05:00,packageFiveHourQuotaExhausted@0d05:00           2
      0d05:00  asks       c,d      -     admitted:0,packageFiveHourQuotaExhausted@0d06:00                                                 2
      `,
      scene(2),
    );
  });

  it('gets the slot of a call back that does not count, unless the slot has expired', () => {
    runTranscript(
      `
      time     operation  call  with  result                                 state
      0d00:00  asks       a     -     admitted:1                             1
      0d01:00  asks       b     -     admitted:0                             2
      0d02:00  fails      b     -     -                                      1
      0d02:00  fails      b     -     -                                      1
      0d02:00  asks       c     -     admitted:0                             2
      0d02:30  counts     c     -     -                                      2
      0d05:00  asks       d     -     admitted:0                             2
      0d06:00  fails      a     -     -                                      2
      0d06:00  asks       e     -     packageFiveHourQuotaExhausted@0d07:00  2
      0d06:00  fails      d     -     -                                      1
      0d06:00  asks       e     -     admitted:0                             2
      `,
      scene(2),
    );
  });

  it('keeps slots if the clock goes back by a minute, and drops slots that lie further in the future', () => {
    runTranscript(
      `
      time            operation  call   with  result                                      state
      0d01:00         asks       a      -     admitted:1                                  1
      0d00:59         asks       b,c    -     admitted:0,packageFiveHourQuotaExhausted@0d05:59  2
      0d00:58:59.999  asks       c      -     admitted:0                                  2
      0d00:58:59.999  asks       d      -     packageFiveHourQuotaExhausted@0d05:58:59.999  2
      9d00:00         asks       e,f    -     admitted:1,admitted:0                       2
      0d01:00         asks       g,h    -     admitted:1,admitted:0                       2
      0d01:00         fails      e      -     -                                           2
      `,
      scene(2),
    );
  });

  it('has capacity again after the limit was lowered once enough calls are five hours old', () => {
    runTranscript(
      `
      time            operation  call  with     result                                 state
      0d00:00         asks       a     -        admitted:3                             1
      0d01:00         asks       b     -        admitted:2                             2
      0d02:00         asks       c     -        admitted:1                             3
      0d03:00         asks       d     -        admitted:0                             4
      0d03:00         limit      -     calls=2  -                                      4
      0d03:00         asks       e     -        packageFiveHourQuotaExhausted@0d07:00  4
      0d05:30         asks       e     -        packageFiveHourQuotaExhausted@0d07:00  3
      0d06:59:59.999  asks       e     -        packageFiveHourQuotaExhausted@0d07:00  2
      0d07:00         asks       e     -        admitted:0                             2
      0d07:00         limit      -     calls=0  -                                      2
      0d12:00         asks       f     -        packageFiveHourQuotaExhausted@0d17:00  0
      0d12:00         limit      -     calls=9  -                                      0
      0d12:00         asks       f     -        admitted:8                             1
      `,
      scene(4),
    );
  });
});
