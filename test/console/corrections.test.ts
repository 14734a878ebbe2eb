import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Call, OwnCall } from '../../console/src/api/types.ts';
import { correctionsOf } from '../../console/src/features/calls/corrections.ts';

const at = '2026-11-23T08:00:00.000Z';
const later = '2026-11-23T09:00:00.000Z';

describe('corrections of a call', () => {
  it('are empty for most calls', () => {
    assert.deepEqual(correctionsOf({ resolution: null, refunds: [] } as unknown as OwnCall), []);
  });

  it('contain the resolution with its charge, and each refund with its amount and time', () => {
    const call = {
      chargeYuan: '0.25',
      resolution: { action: 'charge', at },
      refunds: [
        { entryId: 'le_1_3', amountYuan: '0.1', at },
        { entryId: 'le_1_4', amountYuan: '0.15', at: later },
      ],
    };
    assert.deepEqual(correctionsOf(call as unknown as OwnCall), [
      { kind: 'resolved', action: 'charge', at, amountYuan: '0.25', tokens: null, note: null },
      { kind: 'refunded', at, amountYuan: '0.1', note: null },
      { kind: 'refunded', at: later, amountYuan: '0.15', note: null },
    ]);
  });

  it('have no charge if tokens were counted or the reservation was released', () => {
    const call = (resolution: object) => ({ chargeYuan: null, resolution, refunds: [] }) as unknown as OwnCall;
    const [counted] = correctionsOf(call({ action: 'count', tokens: 1200, at }));
    assert.deepEqual(counted, { kind: 'resolved', action: 'count', at, amountYuan: null, tokens: 1200, note: null });
    const [released] = correctionsOf(call({ action: 'release', at }));
    assert.deepEqual(released, { kind: 'resolved', action: 'release', at, amountYuan: null, tokens: null, note: null });
  });

  it('show operators who decided and why', () => {
    const call = {
      chargeYuan: '0.25',
      resolution: { action: 'charge', at, by: 'Ada', via: 'user', memo: 'the provider billed it' },
      refunds: [{ entryId: 'le_1_3', amountYuan: '0.1', at: later, memo: 'late' }],
    };
    assert.deepEqual(
      correctionsOf(call as unknown as Call).map(({ note }) => note),
      ['Ada: the provider billed it', 'late'],
    );
  });
});
