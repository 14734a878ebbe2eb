import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideResolution, type Resolution, type ResolvableCall } from './resolution.ts';

const BALANCE: ResolvableCall = {
  status: 'unresolved',
  context: 'balance',
  chargeNano: null,
  reservedNano: 30n,
  notes: null,
};
const reservedTokens = { subscriptionId: 'sub_1', periodNo: 0, tokens: 7 };
const PLAN: ResolvableCall = { ...BALANCE, context: 'coding', reservedNano: null, notes: { reservedTokens } };
const NOTE = { by: null, via: 'admin_token', memo: null, at: '2026-11-20T04:00:00.000Z' } as const;

const charge = (chargeNano: bigint): Resolution => ({ action: 'charge', chargeNano });
const count = (tokens: number): Resolution => ({ action: 'count', tokens });
const release: Resolution = { action: 'release' };

const charged: ResolvableCall = {
  ...BALANCE,
  status: 'resolved',
  chargeNano: 20n,
  notes: { resolution: { ...NOTE, action: 'charge' } },
};
const released: ResolvableCall = {
  ...BALANCE,
  status: 'resolved',
  notes: { resolution: { ...NOTE, action: 'release' } },
};
const counted: ResolvableCall = {
  ...PLAN,
  status: 'resolved',
  notes: { reservedTokens, resolution: { ...NOTE, action: 'count', tokens: 3 } },
};

describe('the resolution of a call', () => {
  for (const [what, call, resolution, verdict] of [
    ['charges all that the call had reserved', BALANCE, charge(30n), 'resolve'],
    ['charges nothing, with an entry', BALANCE, charge(0n), 'resolve'],
    ['charges no more than the call had reserved', BALANCE, charge(31n), 'charge_above_reserved'],
    ['releases a call on the balance', BALANCE, release, 'resolve'],
    ['releases a call on a plan', PLAN, release, 'resolve'],
    ['counts all tokens that the call had reserved', PLAN, count(7), 'resolve'],
    ['counts no more tokens than the call had reserved', PLAN, count(8), 'tokens_above_reserved'],
    ['counts no tokens if the reserved number is unknown', { ...PLAN, notes: null }, count(0), 'tokens_unknown'],
    ['charges no call on a plan', PLAN, charge(0n), 'charge_on_plan'],
    ['counts no call on the balance', BALANCE, count(0), 'tokens_without_plan'],
    ['is repeated without effect: a charge', charged, charge(20n), 'repeated'],
    ['is repeated without effect: a release', released, release, 'repeated'],
    ['is repeated without effect: tokens', counted, count(3), 'repeated'],
    ['is not changed by another charge', charged, charge(19n), 'resolved_otherwise'],
    ['is not changed from a charge to a release', charged, release, 'resolved_otherwise'],
    ['is not changed from a release to a charge', released, charge(0n), 'resolved_otherwise'],
    ['is not changed by other tokens', counted, count(4), 'resolved_otherwise'],
    [
      'is refused after the success of the call',
      { ...BALANCE, status: 'succeeded', chargeNano: 5n },
      charge(5n),
      'ended',
    ],
    ['is refused after the failure of the call', { ...BALANCE, status: 'failed' }, release, 'ended'],
  ] as const) {
    it(what, () => {
      const decided = decideResolution(call, resolution);
      assert.equal(typeof decided === 'string' ? decided : decided.refusal, verdict);
    });
  }
});
