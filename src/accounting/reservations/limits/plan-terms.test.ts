import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codingCall, MemoryAccount, planOf } from '../../../../test/support/account-in-memory.ts';
import type { ReservationRequest } from '../reservation.ts';

const START_MS = Date.UTC(2026, 2, 2, 9);
const END_MS = START_MS + 1_000;
const plans = [planOf({ models: new Set(['test', 'other']) })];

function ask(account: MemoryAccount, nowMs: number, request: ReservationRequest = codingCall('call')): string {
  const [admission] = account.admit([request], nowMs);
  if (admission!.isAdmitted) account.end('call', { counts: false, tokens: 0, keyChargeNano: 0n, rateTokens: 0 }, nowMs);
  if (admission!.isAdmitted) return 'admitted';
  const { kind, retryAt, param, isPaymentRequired } = admission!.refusal;
  assert.equal(retryAt, null);
  return [kind, ...(param === undefined ? [] : [param]), ...(isPaymentRequired ? ['payment'] : [])].join(' ');
}

describe('the terms of a Coding Plan', () => {
  it('require an active subscription, to the millisecond', () => {
    const account = new MemoryAccount({ plans });
    assert.equal(ask(account, START_MS), 'insufficientPackage payment');
    const subscription = account.subscribe('plan', START_MS, END_MS);
    for (const [nowMs, expected] of [
      [START_MS - 1, 'insufficientPackage payment'],
      [START_MS, 'admitted'],
      [END_MS - 1, 'admitted'],
      [END_MS, 'packageExpired payment'],
    ] as const) {
      assert.equal(ask(account, nowMs), expected);
    }
    subscription.isCanceled = true;
    assert.equal(ask(account, START_MS), 'insufficientPackage payment');
  });

  it('require a plan that is still offered', () => {
    const account = new MemoryAccount({ plans: [] });
    account.subscribe('plan', START_MS, END_MS);
    assert.equal(ask(account, START_MS), 'insufficientPackage payment');
    account.plans = plans;
    assert.equal(ask(account, START_MS), 'admitted');
  });

  it('limit the models, including those that a request names inside, and sizes', () => {
    const account = new MemoryAccount({ plans });
    account.subscribe('plan', START_MS, END_MS);
    const cases: readonly (readonly [ReservationRequest, string])[] = [
      [codingCall('call', {}, { model: 'other' }), 'admitted'],
      [codingCall('call', {}, { model: 'foreign' }), 'modelNotInPackage model'],
      [codingCall('call', { innerModels: ['other', 'test'] }), 'admitted'],
      [codingCall('call', { innerModels: ['other', 'foreign'] }), 'modelNotInPackage model'],
      [codingCall('call', { inputBytes: 100 }), 'admitted'],
      [codingCall('call', { inputBytes: 101 }), 'packageInputTooLarge'],
      [codingCall('call', { outputTokensRequested: 50 }), 'admitted'],
      [codingCall('call', { outputTokensRequested: 51 }), 'packageOutputLimitExceeded'],
    ];
    for (const [request, expected] of cases) assert.equal(ask(account, START_MS, request), expected);
  });
});
