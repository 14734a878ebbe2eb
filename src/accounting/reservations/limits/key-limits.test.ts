import { describe, it } from 'node:test';
import { balanceCall, codingCall, KEY, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import type { KeyState } from '../account-state.ts';

/** Noon before the last day of a year, so that days change at `0d12:00` and years at `1d12:00`. */
const START_MS = Date.UTC(2026, 11, 30, 12);
const DAY_MS = 24 * 3_600_000;

type Limits = Partial<Pick<KeyState, 'dailySpendCapNano' | 'dailyCallsMax' | 'concurrencyMax'>>;

function scene(limits: Limits): TranscriptScene {
  const account = new MemoryAccount({ balanceNano: 1_000n, plans: [planOf()] });
  account.subscribe('plan', START_MS - DAY_MS, START_MS + 30 * DAY_MS);
  account.limitKey(limits);
  const number = (text: string | undefined): number | null => (text === 'none' ? null : Number(text));
  return {
    account,
    startMs: START_MS,
    call(callId, parts) {
      const key = { keyId: parts.get('key') ?? KEY, isKeyLimited: !parts.has('unlimited') };
      if (parts.has('plan')) return codingCall(callId, {}, key);
      return balanceCall(callId, { ...key, amountNano: BigInt(parts.get('amount') ?? 1) });
    },
    state({ state: { keys } }) {
      const { spentNano, reservedNano, calls, inFlight } = keys.get(KEY)!;
      return `${spentNano}+${reservedNano},calls=${calls},${inFlight}`;
    },
    operations: {
      limit: (parts) =>
        account.limitKey({
          ...(parts.has('spend') && { dailySpendCapNano: BigInt(parts.get('spend')!) }),
          ...(parts.has('calls') && { dailyCallsMax: number(parts.get('calls')) }),
          ...(parts.has('concurrency') && { concurrencyMax: number(parts.get('concurrency')) }),
        }),
    },
  };
}

describe('the limits of a key', () => {
  it('cap its daily spending, including reservations of calls in flight', () => {
    runTranscript(
      `
      time            operation  call  with       result                        state
      0d00:00         asks       a     amount=6   admitted:994                  0+6,calls=1,1
      0d00:00         asks       b     amount=6   admitted:988                  0+12,calls=2,2
      0d00:00         asks       c     amount=0   keySpendLimitReached@soon     0+12,calls=2,2
      0d00:00         asks       c     plan=1     admitted:999                  0+12,calls=3,3
      0d00:00         counts     a     charge=3   -                             3+6,calls=3,2
      0d00:00         asks       d     amount=50  admitted:944                  3+56,calls=4,3
      0d00:00         fails      d     -          -                             3+6,calls=3,2
      0d00:00         counts     b     charge=9   -                             12+0,calls=3,1
      0d11:59:59.999  asks       e     -          keySpendLimitReached@0d12:00  12+0,calls=3,1
      0d12:00         asks       e     amount=2   admitted:998                  0+2,calls=1,2
      0d12:00         limit      -     spend=2    -                             0+2,calls=1,2
      0d12:00         asks       f     -          keySpendLimitReached@soon     0+2,calls=1,2
      `,
      scene({ dailySpendCapNano: 10n }),
    );
  });

  it('count calls per day, and give back calls that do not count, on their own day only', () => {
    runTranscript(
      `
      time     operation  call   with     result                                                  state
      0d00:00  asks       a,b,c  -        admitted:999,admitted:998,keyCallsLimitReached@0d12:00  0+2,calls=2,2
      0d00:00  asks       c      plan=1   keyCallsLimitReached@0d12:00                            0+2,calls=2,2
      0d00:00  fails      a      -        -                                                       0+1,calls=1,1
      0d00:00  fails      a      -        -                                                       0+1,calls=1,1
      0d00:00  asks       c      plan=1   admitted:999                                            0+1,calls=2,2
      0d12:00  asks       d      -        admitted:998                                            0+2,calls=1,3
      0d12:00  fails      b      -        -                                                       0+1,calls=1,2
      0d12:00  counts     c      -        -                                                       0+1,calls=1,1
      0d12:00  limit      -      calls=1  -                                                       0+1,calls=1,1
      0d12:00  asks       e      -        keyCallsLimitReached@1d12:00                            0+1,calls=1,1
      1d12:00  asks       e      -        admitted:998                                            0+2,calls=1,2
      `,
      scene({ dailyCallsMax: 2 }),
    );
  });

  it('limit concurrent calls', () => {
    runTranscript(
      `
      time     operation  call   with              result                                                 state
      0d00:00  asks       a,b,c  -                 admitted:999,admitted:998,keyConcurrencyLimited@soon   0+2,calls=2,2
      0d00:00  asks       c      plan=1            keyConcurrencyLimited@soon                             0+2,calls=2,2
      0d00:00  counts     a      -                 -                                                      0+1,calls=2,1
      0d00:00  asks       c      plan=1            admitted:999                                           0+1,calls=3,2
      0d12:00  asks       d      -                 keyConcurrencyLimited@soon                             0+1,calls=3,2
      0d12:00  limit      -      concurrency=none  -                                                      0+1,calls=3,2
      0d12:00  asks       d      -                 admitted:998                                           0+2,calls=1,3
      `,
      scene({ concurrencyMax: 2 }),
    );
  });

  it('count in the later day if the clock goes back', () => {
    runTranscript(
      `
      time            operation  call  with      result                        state
      0d12:00         asks       a     -         admitted:999                  0+1,calls=1,1
      0d11:59:59.999  asks       b     -         admitted:998                  0+2,calls=2,2
      0d11:59:59.999  asks       c     -         keyCallsLimitReached@0d12:00  0+2,calls=2,2
      0d11:59:59.999  counts     a     charge=4  -                             4+1,calls=2,1
      0d11:59:59.999  fails      b     -         -                             4+0,calls=1,0
      `,
      scene({ dailyCallsMax: 2 }),
    );
  });

  it('apply to one key, and changing them keeps the counts', () => {
    runTranscript(
      `
      time     operation  call  with                         result                        state
      0d00:00  asks       a     amount=7                     admitted:993                  0+7,calls=1,1
      0d00:00  asks       b     amount=7                     keyCallsLimitReached@0d12:00  0+7,calls=1,1
      0d00:00  asks       b     amount=7,key=other           admitted:986                  0+7,calls=1,1
      0d00:00  asks       c     amount=7,unlimited=1         admitted:979                  0+7,calls=1,1
      0d00:00  counts     b,c   charge=7                     -                             0+7,calls=1,1
      0d00:00  limit      -     calls=none,spend=7           -                             0+7,calls=1,1
      0d00:00  asks       d     -                            keySpendLimitReached@soon     0+7,calls=1,1
      0d00:00  limit      -     spend=8                      -                             0+7,calls=1,1
      0d00:00  asks       d     -                            admitted:992                  0+8,calls=2,2
      `,
      scene({ dailyCallsMax: 1 }),
    );
  });

  it('start no day with a refused call', () => {
    runTranscript(
      `
      time            operation  call  with           result                        state
      0d11:59:59.999  asks       a     -              admitted:999                  0+1,calls=1,1
      0d12:00         asks       b     -              keyConcurrencyLimited@soon    0+1,calls=1,1
      0d11:59:59.999  limit      -     concurrency=9  -                             0+1,calls=1,1
      0d11:59:59.999  asks       b     -              keyCallsLimitReached@0d12:00  0+1,calls=1,1
      `,
      scene({ dailyCallsMax: 1, concurrencyMax: 1 }),
    );
  });
});

describe('the limits of a member', () => {
  const MEMBER = 'usr_test';

  /** Two keys of one member; one key has limits of its own. */
  function memberScene(limits: Limits, ofKey: Limits): TranscriptScene {
    const of = scene(ofKey);
    of.account.limitKey(limits, MEMBER);
    return {
      ...of,
      call(callId, parts) {
        const isOther = parts.has('other');
        const key = { keyId: isOther ? 'key_other' : KEY, isKeyLimited: !isOther, memberId: MEMBER };
        if (parts.has('plan')) return codingCall(callId, {}, key);
        return balanceCall(callId, { ...key, amountNano: BigInt(parts.get('amount') ?? 1) });
      },
      state({ state: { keys } }) {
        const { spentNano, reservedNano, calls, inFlight } = keys.get(MEMBER)!;
        return `${spentNano}+${reservedNano},calls=${calls},${inFlight}`;
      },
    };
  }

  it('count the calls of all keys, and are checked after those of the key', () => {
    runTranscript(
      `
      time     operation  call  with              result                           state
      0d00:00  asks       a     amount=6          admitted:994                     0+6,calls=1,1
      0d00:00  asks       b     amount=1          keySpendLimitReached@soon        0+6,calls=1,1
      0d00:00  asks       b     other=1,amount=6  admitted:988                     0+12,calls=2,2
      0d00:00  asks       c     other=1           memberSpendLimitReached@soon     0+12,calls=2,2
      0d00:00  counts     b     charge=10         -                                10+6,calls=2,1
      0d00:00  asks       c     other=1           memberSpendLimitReached@0d12:00  10+6,calls=2,1
      0d00:00  asks       c     other=1,plan=1    admitted:999                     10+6,calls=3,2
      0d00:00  asks       d     other=1,plan=1    memberCallsLimitReached@0d12:00  10+6,calls=3,2
      0d00:00  fails      c     -                 -                                10+6,calls=2,1
      0d12:00  asks       d     other=1           admitted:993                     0+7,calls=1,2
      0d12:00  fails      a     -                 -                                0+1,calls=1,1
      `,
      memberScene({ dailySpendCapNano: 10n, dailyCallsMax: 3 }, { dailySpendCapNano: 6n }),
    );
  });

  it('limit concurrent calls over all keys', () => {
    runTranscript(
      `
      time     operation  call  with     result                         state
      0d00:00  asks       a     -        admitted:999                   0+1,calls=1,1
      0d00:00  asks       b     other=1  memberConcurrencyLimited@soon  0+1,calls=1,1
      0d00:00  counts     a     -        -                              0+0,calls=1,0
      0d00:00  asks       b     other=1  admitted:999                   0+1,calls=2,1
      `,
      memberScene({ concurrencyMax: 1 }, {}),
    );
  });
});
