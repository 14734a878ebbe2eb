import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { amountOfMonth, amountOfTopUps } from './invoiced-amount.ts';

describe('the amount of an invoice', () => {
  it('is what the calls of a month cost, less refunds, whatever was paid', () => {
    const kinds = [
      { kind: 'charge', amountNano: -70n },
      { kind: 'refund', amountNano: 20n },
      { kind: 'top_up', amountNano: 1_000n },
      { kind: 'adjustment', amountNano: -5n },
    ] as const;
    assert.equal(amountOfMonth(kinds), 50n);
    assert.equal(amountOfMonth(kinds.slice(1)), 'nothing_to_invoice');
    assert.equal(amountOfMonth([]), 'nothing_to_invoice');
  });

  it('is the sum of top-ups, if all of them exist and are top-ups', () => {
    const topUp = { kind: 'top_up', amountNano: 30n } as const;
    assert.equal(amountOfTopUps([topUp, topUp], 2), 60n);
    assert.equal(amountOfTopUps([topUp], 2), 'not_a_top_up');
    assert.equal(amountOfTopUps([topUp, { kind: 'refund', amountNano: 30n }], 2), 'not_a_top_up');
  });
});
