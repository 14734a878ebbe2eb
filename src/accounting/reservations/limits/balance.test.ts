import { describe, it } from 'node:test';
import { balanceCall, codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import { countSpending } from './daily-cap.ts';

/** Noon, so that the day changes at `0d12:00`. */
const START_MS = Date.UTC(2026, 11, 31, 12);
const DAY_MS = 24 * 3_600_000;

function scene(
  balanceNano: bigint,
  dailyCapNano: bigint | null = null,
  ownDailyCapNano: bigint | null = null,
): TranscriptScene {
  const account = new MemoryAccount({ balanceNano, dailyCapNano, ownDailyCapNano, plans: [planOf()] });
  account.subscribe('plan', START_MS, START_MS + 30 * DAY_MS);
  const { money } = account.state;
  return {
    account,
    startMs: START_MS,
    call: (callId, parts) =>
      parts.has('plan') ? codingCall(callId) : balanceCall(callId, { amountNano: BigInt(parts.get('amount') ?? 1) }),
    state: () => `${money.balanceNano}-${money.reservedNano},spent=${money.spentNano}`,
    operations: {
      // How the end of a call changes money apart from its reservation.
      charge: (parts, nowMs) => {
        const chargeNano = BigInt(parts.get('amount')!);
        money.balanceNano -= chargeNano;
        countSpending(money, chargeNano, account.contextAt(nowMs));
      },
      add: (parts) => {
        money.balanceNano += BigInt(parts.get('amount')!);
      },
      default: (parts) => {
        account.defaultDailyCapNano = BigInt(parts.get('cap')!);
      },
    },
  };
}

describe('the balance', () => {
  it('admits calls while some of it is not reserved, and returns the remainder', () => {
    runTranscript(
      `
      time     operation  call   with        result                                         state
      0d00:00  asks       a      amount=60   admitted:40                                    100-60,spent=0
      0d00:00  asks       b      amount=60   admitted:-20                                   100-120,spent=0
      0d00:00  asks       c      amount=0    insufficientBalance@soon                       100-120,spent=0
      0d00:00  fails      b      -           -                                              100-60,spent=0
      0d00:00  counts     a      -           -                                              100-0,spent=0
      0d00:00  charge     a      amount=70   -                                              30-0,spent=70
      0d00:00  asks       c,d,e  amount=29   admitted:1,admitted:-28,insufficientBalance@soon  30-58,spent=70
      0d00:00  fails      c,d    -           -                                              30-0,spent=70
      0d00:00  charge     -      amount=30   -                                              0-0,spent=100
      0d00:00  asks       f      amount=0    insufficientBalance                            0-0,spent=100
      0d00:00  add        -      amount=1    -                                              1-0,spent=100
      0d00:00  asks       f      amount=500  admitted:-499                                  1-500,spent=100
      `,
      scene(100n),
    );
  });

  it('neither limits calls on a Coding Plan nor is reserved by them', () => {
    runTranscript(
      `
      time     operation  call  with    result               state
      0d00:00  asks       a     -       insufficientBalance  0-0,spent=0
      0d00:00  asks       b     plan=1  admitted:999         0-0,spent=0
      `,
      scene(0n, 0n),
    );
  });
});

describe('the daily cap', () => {
  it('counts reservations as spent, until the billing day changes', () => {
    runTranscript(
      `
      time            operation  call  with       result                                  state
      0d00:00         asks       a     amount=40  admitted:960                            1000-40,spent=0
      0d00:00         asks       b     amount=40  admitted:920                            1000-80,spent=0
      0d00:00         asks       c     amount=0   balanceDailyLimitExceeded@soon          1000-80,spent=0
      0d00:00         fails      b     -          -                                       1000-40,spent=0
      0d00:00         counts     a     -          -                                       1000-0,spent=0
      0d00:00         charge     a     amount=49  -                                       951-0,spent=49
      0d11:59:59.999  asks       c     amount=30  admitted:921                            951-30,spent=49
      0d11:59:59.999  asks       d     amount=1   balanceDailyLimitExceeded@soon          951-30,spent=49
      0d12:00         asks       d     amount=20  admitted:901                            951-50,spent=49
      0d12:00         asks       e     amount=20  balanceDailyLimitExceeded@soon          951-50,spent=49
      0d12:00         counts     c     -          -                                       951-20,spent=49
      0d12:00         charge     c     amount=5   -                                       946-20,spent=5
      `,
      scene(1_000n, 50n),
    );
  });

  it('does not return to an earlier day if the clock goes back', () => {
    runTranscript(
      `
      time            operation  call  with       result                             state
      0d12:00         charge     a     amount=7   -                                  93-0,spent=7
      0d11:59:59.999  charge     b     amount=2   -                                  91-0,spent=9
      0d11:59:59.999  asks       c     amount=1   admitted:90                        91-1,spent=9
      0d11:59:59.999  asks       d     amount=1   balanceDailyLimitExceeded@soon     91-1,spent=9
      0d11:59:59.999  charge     e     amount=1   -                                  90-1,spent=10
      0d11:59:59.999  asks       d     amount=1   balanceDailyLimitExceeded@0d12:00  90-1,spent=10
      `,
      scene(100n, 10n),
    );
  });

  it('defaults to the cap of the configuration', () => {
    const transcript = (second: string) => `
      time     operation  call  with       result       state
      0d00:00  default    -     cap=10     -            100-0,spent=0
      0d00:00  asks       a     amount=10  admitted:90  100-10,spent=0
      0d00:00  asks       b     amount=10  ${second}
      `;
    runTranscript(transcript('balanceDailyLimitExceeded@soon  100-10,spent=0'), scene(100n));
    runTranscript(transcript('admitted:80  100-20,spent=0'), scene(100n, 50n));
    runTranscript(
      `
      time     operation  call  with       result                             state
      0d00:00  asks       a     amount=10  balanceDailyLimitExceeded@0d12:00  100-0,spent=0
      `,
      scene(100n, 0n),
    );
  });

  it('is the lower one of that cap and the cap that the owners set', () => {
    const transcript = `
      time     operation  call  with       result                             state
      0d00:00  default    -     cap=20     -                                  100-0,spent=0
      0d00:00  asks       a     amount=10  admitted:90                        100-10,spent=0
      0d00:00  asks       b     amount=10  balanceDailyLimitExceeded@soon     100-10,spent=0
      `;
    runTranscript(transcript, scene(100n, null, 10n));
    runTranscript(transcript, scene(100n, 10n, 30n));
    runTranscript(transcript, scene(100n, 30n, 10n));
  });
});
