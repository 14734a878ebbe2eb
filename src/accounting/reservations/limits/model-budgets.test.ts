import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { balanceCall, KEY, MemoryAccount } from '../../../../test/support/account-in-memory.ts';
import { runTranscript, type TranscriptScene } from '../../../../test/support/limit-transcript.ts';
import { budgetId } from '../../accounts/budget-ids.ts';
import type { KeyLimits } from '../../accounts/key-limit-tables.ts';

/** A Saturday: the week ends at `2d00:00`. */
const START_MS = Date.UTC(2028, 1, 26);
const MEMBER = 'usr_test';

interface Caps {
  readonly ofKey?: Partial<KeyLimits>;
  readonly ofKeyModel?: Partial<KeyLimits>;
  readonly ofMemberModel?: Partial<KeyLimits>;
}

/** The state: spent in the week plus reserved, by the key for the model, by the member for it, and by the key for all models. */
function scene({ ofKey = {}, ofKeyModel = {}, ofMemberModel = {} }: Caps): TranscriptScene {
  const account = new MemoryAccount({ balanceNano: 1_000n });
  const budgetIds = { key: budgetId(KEY, 'large'), member: budgetId(MEMBER, 'large') };
  account.limitKey(ofKey);
  account.limitKey(ofKeyModel, budgetIds.key);
  account.limitKey(ofMemberModel, budgetIds.member);
  const useOf = (id: string): string => {
    const { weekSpentNano, reservedNano } = account.state.keys.get(id)!;
    return `${weekSpentNano}+${reservedNano}`;
  };
  return {
    account,
    startMs: START_MS,
    call(callId, parts) {
      const own = { keyId: KEY, isKeyLimited: true, amountNano: BigInt(parts.get('amount') ?? 1) };
      return balanceCall(callId, parts.has('other') ? own : { ...own, model: 'large', budgetIds });
    },
    state: () => [budgetIds.key, budgetIds.member, KEY].map(useOf).join('/'),
  };
}

describe('the budgets for a model', () => {
  it('count the calls of the model and what they reserve, but no other calls', () => {
    runTranscript(
      `
      time     operation  call  with              result                              state
      0d00:00  asks       a     amount=8          admitted:992                        0+8/0+8/0+8
      0d00:00  asks       b     amount=8          admitted:984                        0+16/0+16/0+16
      0d00:00  asks       c     -                 keyWeeklySpendLimitReached@soon     0+16/0+16/0+16
      0d00:00  asks       d     other=1           admitted:983                        0+16/0+16/0+17
      0d00:00  counts     a     charge=6          -                                   6+8/6+8/6+9
      0d00:00  fails      b     -                 -                                   6+0/6+0/6+1
      0d00:00  counts     d     charge=9          -                                   6+0/6+0/15+0
      0d00:00  asks       c     amount=1          admitted:999                        6+1/6+1/15+1
      0d00:00  counts     c     charge=4          -                                   10+0/10+0/19+0
      0d00:00  asks       e     -                 keyWeeklySpendLimitReached@2d00:00  10+0/10+0/19+0
      2d00:00  asks       e     amount=2          admitted:998                        0+2/0+2/0+2
      `,
      scene({ ofKeyModel: { weeklySpendCapNano: 10n } }),
    );
  });

  it('apply after the budgets for all models, and those of the key before those of the member', () => {
    runTranscript(
      `
      time     operation  call  with      result                         state
      0d00:00  asks       a     -         admitted:999                   0+1/0+1/0+1
      0d00:00  counts     a     charge=5  -                              5+0/5+0/5+0
      0d00:00  asks       b     -         keyTotalSpendLimitReached      5+0/5+0/5+0
      `,
      scene({
        ofKey: { totalSpendCapNano: 5n },
        ofKeyModel: { weeklySpendCapNano: 5n },
        ofMemberModel: { dailySpendCapNano: 5n },
      }),
    );
    runTranscript(
      `
      time     operation  call  with      result                              state
      0d00:00  asks       a     -         admitted:999                        0+1/0+1/0+1
      0d00:00  counts     a     charge=5  -                                   5+0/5+0/5+0
      0d00:00  asks       b     -         keyWeeklySpendLimitReached@2d00:00  5+0/5+0/5+0
      0d00:00  asks       c     other=1   admitted:999                        5+0/5+0/5+1
      `,
      scene({ ofKeyModel: { weeklySpendCapNano: 5n }, ofMemberModel: { dailySpendCapNano: 5n } }),
    );
    runTranscript(
      `
      time     operation  call  with      result                             state
      0d00:00  asks       a     -         admitted:999                       0+1/0+1/0+1
      0d00:00  counts     a     charge=5  -                                  5+0/5+0/5+0
      0d00:00  asks       b     -         memberSpendLimitReached@1d00:00    5+0/5+0/5+0
      `,
      scene({ ofKeyModel: { weeklySpendCapNano: 6n }, ofMemberModel: { dailySpendCapNano: 5n } }),
    );
  });

  it('are named with the model in the refusal, and checked only once the model is known', () => {
    const { account, call } = scene({ ofKeyModel: { totalSpendCapNano: 0n } });
    const [admission] = account.admit([call('a', new Map())], START_MS);
    assert.deepEqual(admission, {
      isAdmitted: false,
      refusal: { kind: 'keyTotalSpendLimitReached', retryAt: null, budgetModel: 'large' },
      planId: null,
    });
    assert.equal(account.look({ isKeyLimited: true }, START_MS), null);
  });

  it('are not given back by a call that was admitted before they were set', () => {
    const { account } = scene({});
    const id = budgetId(KEY, 'large');
    account.admit([balanceCall('a', { model: 'large', amountNano: 7n })], START_MS);
    account.end('a', { counts: true, tokens: 0, keyChargeNano: 5n, rateTokens: 0 }, START_MS);
    const { totalSpentNano, reservedNano } = account.state.keys.get(id)!;
    assert.deepEqual([totalSpentNano, reservedNano], [0n, 0n]);
  });
});
