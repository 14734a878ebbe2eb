import { describe, it } from 'node:test';
import { codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript } from '../../../../test/support/limit-transcript.ts';

const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 24 * 3_600_000;

describe('the concurrency of a Coding Plan', () => {
  it('counts calls in flight of a subscription until they end in any way', () => {
    const account = new MemoryAccount({ plans: [planOf({ concurrency: 2 })] });
    let current = account.subscribe('plan', START_MS, START_MS + 30 * DAY_MS);
    runTranscript(
      `
      time     operation  call   with           result                                                    state
      0d00:00  asks       a,b,c  -              admitted:999,admitted:998,packageConcurrencyLimited@soon  2
      0d00:01  counts     a      -              -                                                         1
      0d00:01  counts     a      -              -                                                         1
      0d00:01  asks       c      -              admitted:997                                              2
      0d00:01  asks       d      -              packageConcurrencyLimited@soon                            2
      0d00:01  fails      b      -              -                                                         1
      0d00:01  limit      -      concurrency=1  -                                                         1
      0d00:01  asks       d      -              packageConcurrencyLimited@soon                            1
      0d09:00  asks       d      -              packageConcurrencyLimited@soon                            1
      0d09:00  other      -      -              -                                                         0
      0d09:00  asks       e      -              admitted:999                                              1
      0d09:00  counts     c      -              -                                                         1
      0d09:00  asks       f      -              packageConcurrencyLimited@soon                            1
      0d09:00  fails      e      -              -                                                         0
      `,
      {
        account,
        startMs: START_MS,
        call: (callId) => codingCall(callId),
        state: ({ subscription }) => `${subscription.inFlight}`,
        operations: {
          limit: (parts) => {
            account.plans = [planOf({ concurrency: Number(parts.get('concurrency')) })];
          },
          other: (_parts, nowMs) => {
            current.isCanceled = true;
            current = account.subscribe('plan', nowMs, nowMs + 30 * DAY_MS);
          },
        },
      },
    );
  });
});
