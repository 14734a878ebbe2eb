import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnitPrices } from '../accounting/pricing/charge.ts';
import { noUsage, type UsageFacts } from '../protocols/metering/usage-facts.ts';
import { plainDemand } from '../protocols/operations/operation.ts';
import type { Model } from '../providers/catalog/catalog.ts';
import { type ChargeTerms, chargeCall } from './call-charge.ts';

/** A nano-yuan for a token, and two for one of a call with more than 1,000 tokens of input. */
const tokenPrices = (nanoPerMillion: bigint) => ({
  inputNanoPerMillion: nanoPerMillion,
  cachedInputNanoPerMillion: nanoPerMillion,
  cacheWriteNanoPerMillion: nanoPerMillion,
  cacheWrite1hNanoPerMillion: nanoPerMillion,
  imageInputNanoPerMillion: nanoPerMillion,
  outputNanoPerMillion: nanoPerMillion,
  imageOutputNanoPerMillion: nanoPerMillion,
});
const prices: UnitPrices = {
  ...tokenPrices(1_000_000n),
  perImageNano: null,
  perSearchUnitNano: null,
  perCallNano: null,
  serviceTiers: { flex: 500_000_000n, priority: 2_000_000_000n },
  above: { '1000': tokenPrices(2_000_000n) },
};
const model = { id: 'm', contextTokensMax: null, outputTokensMax: null } as Model;

const charge = (usage: Partial<UsageFacts>, terms: Partial<ChargeTerms> = {}) =>
  chargeCall(
    { ...noUsage, source: 'observed', ...usage },
    {
      model,
      prices,
      basis: 'tokens',
      inner: [],
      ownNames: ['m'],
      input: { choices: 1, demand: plainDemand },
      isPaid: true,
      ...terms,
    },
  );
const asking = (serviceTier: string) => ({
  input: { choices: 1, demand: { ...plainDemand, terms: { serviceTier } } },
});

describe('the charge of a call', () => {
  it('notes the step and the terms that chose its prices, and what has no price', () => {
    const { chargeNano, notes } = charge({
      inputTokens: 1_001,
      webSearches: 2,
      servedOn: { serviceTier: 'flex', speed: 'fast' },
    });
    assert.equal(chargeNano, 1_001n);
    assert.deepEqual(notes, {
      pricedBy: { above: '1000', serviceTier: 'flex' },
      unpriced: ['perWebSearch', 'speeds.fast'],
    });
  });

  it('has no such notes on a plan', () => {
    const usage = { inputTokens: 1_001, webSearches: 2, servedOn: { speed: 'fast' } };
    assert.equal(charge(usage, { isPaid: false }).notes, undefined);
  });

  it('is that of the cheaper of the asked and the plain tier, where none is reported', () => {
    const used = { inputTokens: 100 };
    assert.equal(charge(used, asking('flex')).chargeNano, 50n);
    assert.equal(charge(used, asking('priority')).chargeNano, 100n);
    assert.equal(charge({ ...used, servedOn: { serviceTier: 'default' } }, asking('flex')).chargeNano, 100n);
  });

  it('takes the step of an inner model by the average input of its runs', () => {
    const inner = { name: 'inner', model, price: { rule: 'base' as const, prices } };
    const run = (inputTokens: number) => ({ model: 'inner', isInside: false, usage: { ...noUsage, inputTokens } });
    const cost = (...runs: number[]) => charge({ parts: runs.map(run) }, { inner: [inner] }).chargeNano;
    assert.deepEqual([cost(900, 900), cost(1_001), cost(900, 1_102)], [1_800n, 2_002n, 4_004n]);
  });
});
