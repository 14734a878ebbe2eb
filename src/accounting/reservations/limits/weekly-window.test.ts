import { describe, it } from 'node:test';
import { codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';

/** A week in which Europe's clocks go forward: it has 168 hours nevertheless. */
const START_MS = Date.UTC(2026, 2, 27, 1, 30);
const DAY_MS = 24 * 3_600_000;

function scene(): TranscriptScene {
  const account = new MemoryAccount({ plans: [planOf({ weeklyCalls: 2 })] });
  const subscription = account.subscribe('plan', START_MS, START_MS + 30 * DAY_MS);
  return {
    account,
    startMs: START_MS,
    call: (callId) => codingCall(callId),
    state: ({ subscription: { weekBeganAtMs, weekCalls } }) =>
      `week=${(weekBeganAtMs - START_MS) / (7 * DAY_MS)},calls=${weekCalls}`,
    operations: {
      renew: () => {
        subscription.endsAtMs += 30 * DAY_MS;
      },
      limit: (parts) => {
        account.plans = [planOf({ weeklyCalls: Number(parts.get('calls')) })];
      },
    },
  };
}

describe('the weekly window', () => {
  it('resets every seven days from the start of the subscription, to the millisecond', () => {
    runTranscript(
      `
      time            operation  call  with  result                                state
      0d00:00         asks       a     -     admitted:1                            week=0,calls=1
      6d00:00         asks       b     -     admitted:0                            week=0,calls=2
      6d06:00         asks       c     -     packageWeeklyQuotaExhausted@7d00:00   week=0,calls=2
      6d23:59:59.999  asks       c     -     packageWeeklyQuotaExhausted@7d00:00   week=0,calls=2
      7d00:00         asks       c     -     admitted:1                            week=1,calls=1
      24d00:00        asks       d,e   -     admitted:1,admitted:0                 week=3,calls=2
      24d00:00        asks       f     -     packageWeeklyQuotaExhausted@28d00:00  week=3,calls=2
      27d23:59        renew      -     -     -                                     week=3,calls=2
      34d23:59        asks       f     -     admitted:1                            week=4,calls=1
      35d00:00        asks       g     -     admitted:1                            week=5,calls=1
      `,
      scene(),
    );
  });

  it('gives back a call that does not count, but not in a later week', () => {
    runTranscript(
      `
      time      operation  call  with     result                               state
      0d00:00   asks       a     -        admitted:1                           week=0,calls=1
      1d00:00   asks       b     -        admitted:0                           week=0,calls=2
      1d00:00   fails      b     -        -                                    week=0,calls=1
      1d00:00   asks       c     -        admitted:0                           week=0,calls=2
      6d00:00   counts     c     -        -                                    week=0,calls=2
      7d00:00   fails      a     -        -                                    week=0,calls=1
      7d00:00   asks       d     -        admitted:1                           week=1,calls=1
      7d00:00   limit      -     calls=1  -                                    week=1,calls=1
      7d00:00   asks       e     -        packageWeeklyQuotaExhausted@14d00:00  week=1,calls=1
      14d00:00  asks       e     -        admitted:0                           week=2,calls=1
      14d00:00  fails      d     -        -                                    week=2,calls=1
      `,
      scene(),
    );
  });

  it('does not return to an earlier week if the clock goes back by a minute, and resets if it was further in the future', () => {
    runTranscript(
      `
      time            operation  call  with  result                                state
      7d00:00         asks       a     -     admitted:1                            week=1,calls=1
      6d23:59:59.999  asks       b     -     admitted:0                            week=1,calls=2
      6d23:59         asks       c     -     packageWeeklyQuotaExhausted@14d00:00  week=1,calls=2
      6d23:58:59.999  asks       c     -     admitted:1                            week=0,calls=1
      6d23:59         fails      a     -     -                                     week=0,calls=1
      27d00:00        asks       d,e   -     admitted:1,admitted:0                 week=3,calls=2
      8d00:00         asks       f     -     admitted:1                            week=1,calls=1
      8d00:00         fails      b     -     -                                     week=1,calls=1
      `,
      scene(),
    );
  });
});
