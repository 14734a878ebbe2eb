import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import { noUsage, type Usage, type UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { withinReservation } from './estimates.ts';

/** Nano-yuan per token: 3 for input, 13 for output, 40 for audio, 20 for images. */
const prices: UnitPrices = {
  inputNanoPerMillion: 3_000_000n,
  cachedInputNanoPerMillion: 1_000_000n,
  cacheWriteNanoPerMillion: 4_000_000n,
  cacheWrite1hNanoPerMillion: 5_000_000n,
  imageInputNanoPerMillion: 3_000_000n,
  outputNanoPerMillion: 13_000_000n,
  imageOutputNanoPerMillion: 20_000_000n,
  audioOutputNanoPerMillion: 40_000_000n,
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
};

const estimated = (counts: Partial<Usage>): UsageFacts => ({ ...noUsage, ...counts, source: 'estimated' });
const bound = (estimate: UsageFacts, delivered: Partial<Usage>, amountNano: bigint, assumesOutput: boolean) =>
  withinReservation(
    estimate,
    { reported: null, delivered: { ...noUsage, ...delivered } },
    { amountNano, prices, basis: 'tokens', assumesOutput },
  );

describe('an estimate within its reservation', () => {
  it('is cut to the reservation if a limit was stated, output first', () => {
    const estimate = estimated({ inputTokens: 100, outputTokens: 50, audioOutputTokens: 10, imageOutputTokens: 5 });
    assert.deepEqual(bound(estimate, estimate, 1_000n, false), { ...estimate, outputTokens: 15 });
    assert.deepEqual(bound(estimate, estimate, 700n, false), { ...estimate, outputTokens: 0, audioOutputTokens: 7 });
    assert.deepEqual(bound(estimate, estimate, 90n, false), estimated({ inputTokens: 30 }));
  });

  it('keeps delivered output if the limit was assumed, and undelivered output up to the reservation', () => {
    const delivered = { outputTokens: 40, audioOutputTokens: 10 };
    const estimate = estimated({ inputTokens: 100, ...delivered, outputTokens: 90 });
    assert.deepEqual(bound(estimate, delivered, 10_000n, true), estimate);
    assert.deepEqual(bound(estimate, delivered, 1_350n, true), { ...estimate, outputTokens: 50 });
    assert.deepEqual(bound(estimate, delivered, 400n, true), { ...estimate, outputTokens: 40 });
    // Input is bounded separately, by the whole reservation.
    assert.deepEqual(bound(estimate, delivered, 90n, true), { ...estimate, inputTokens: 30, outputTokens: 40 });
  });

  it('keeps delivered output if tool uses cost more than the reservation', () => {
    const estimate = estimated({ inputTokens: 100, outputTokens: 50, webSearches: 7, otherToolUses: 3 });
    const withTools = { ...prices, perWebSearchNano: 1_000n, perToolUseNano: 1_000n };
    const of = { reported: null, delivered: estimate };
    const reservation = { amountNano: 1_000n, prices: withTools, basis: 'tokens', assumesOutput: false } as const;
    assert.deepEqual(withinReservation(estimate, of, reservation), estimate);
    const reduced = withinReservation(estimate, of, { ...reservation, amountNano: 950n - 130n });
    assert.deepEqual(reduced, { ...estimate, outputTokens: 40 });
  });

  it('never costs more than the reservation plus delivered output, nor less than reported', () => {
    const count = fc.nat({ max: 1_000 });
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        fc.bigInt(0n, 40_000n),
        fc.boolean(),
        (input, observed, shown, unseen, amountNano, assumes) => {
          const reported = { ...noUsage, outputTokens: observed };
          const delivered = estimated({ inputTokens: input, outputTokens: Math.max(observed, shown) });
          const estimate = { ...delivered, outputTokens: Math.max(delivered.outputTokens, unseen) };
          const reservation = { amountNano, prices, basis: 'tokens', assumesOutput: assumes } as const;
          const bounded = withinReservation(estimate, { reported, delivered }, reservation);
          const least = assumes ? delivered.outputTokens : observed;
          assert.ok(bounded.outputTokens >= least && bounded.outputTokens <= estimate.outputTokens);
          assert.ok(bounded.inputTokens <= input);
          const most = amountNano + chargeFor(estimated({ outputTokens: least }), prices, 'tokens');
          assert.ok(chargeFor(bounded, prices, 'tokens') <= most);
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });
});
