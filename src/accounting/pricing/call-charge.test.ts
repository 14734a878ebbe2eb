import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { noUsage, type UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { byUnit } from '../../protocols/metering/usage-units.ts';
import { plainDemand } from '../../protocols/operations/operation.ts';
import type { Model } from '../../providers/catalog/catalog.ts';
import { type ChargeTerms, type CostTerms, chargeCall } from './call-charge.ts';
import type { UnitPrices } from './charge.ts';

/** 1 nano-yuan per token, and 2 in calls with more than 1,000 input tokens. */
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
      cost: null,
      isPaid: true,
      priceFactorBasisPoints: 10_000,
      ...terms,
    },
  );
const asking = (serviceTier: string) => ({
  input: { choices: 1, demand: { ...plainDemand, terms: { serviceTier } } },
});

describe('the charge of a call', () => {
  it('records the step and the terms of its prices, and uses without a price', () => {
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

  it('has no such notes for a call on a plan', () => {
    const usage = { inputTokens: 1_001, webSearches: 2, servedOn: { speed: 'fast' } };
    assert.equal(charge(usage, { isPaid: false }).notes, undefined);
  });

  it('uses the cheaper of the requested and the plain tier if none is reported', () => {
    const used = { inputTokens: 100 };
    assert.equal(charge(used, asking('flex')).chargeNano, 50n);
    assert.equal(charge(used, asking('priority')).chargeNano, 100n);
    assert.equal(charge({ ...used, servedOn: { serviceTier: 'default' } }, asking('flex')).chargeNano, 100n);
  });

  it('prices each run by the length of its own input', () => {
    const run = (inputTokens: number, more: object = {}) => ({
      model: null,
      isInside: true,
      usage: { ...noUsage, inputTokens, ...more },
    });
    const cost = (
      parts: ReturnType<typeof run>[],
      more: Partial<UsageFacts> = {},
      terms: Partial<ChargeTerms> = {},
    ) => {
      const inputTokens = parts.reduce((sum, { usage }) => sum + usage.inputTokens, 0);
      const { chargeNano, notes } = charge({ inputTokens, parts, ...more }, terms);
      return [chargeNano, notes?.pricedBy];
    };
    const summary = { compactions: 1 };

    assert.deepEqual(cost([run(900, summary), run(600)]), [1_500n, { steps: [{ runs: 2, inputTokens: 1_500 }] }]);
    assert.deepEqual(cost([run(1_001, summary), run(600)]), [
      2_602n,
      {
        steps: [
          { runs: 1, inputTokens: 600 },
          { above: '1000', runs: 1, inputTokens: 1_001 },
        ],
      },
    ]);
    // No note if the sum has the same prices.
    assert.deepEqual(cost([run(300, summary), run(600)]), [900n, undefined]);
    assert.deepEqual(cost([run(1_001, summary), run(1_002)]), [4_006n, { above: '1000' }]);
    // The runs of estimated or cut usage are unknown.
    assert.deepEqual(cost([run(900, summary), run(600)], { source: 'estimated' }), [3_000n, { above: '1000' }]);
    const short = { ...model, contextTokensMax: 700 };
    assert.deepEqual(cost([run(900, summary), run(600)], summary, { model: short }), [2_800n, { above: '1000' }]);
  });

  it('records whether reasoning or the length of the output chose the prices', () => {
    const more = { ...prices, above: {}, thinking: tokenPrices(4_000_000n) };
    const noted = (usage: Partial<UsageFacts>, at: UnitPrices) => {
      const { chargeNano, notes } = charge(usage, { prices: at });
      return [chargeNano, notes?.pricedBy];
    };
    assert.deepEqual(noted({ outputTokens: 10 }, more), [10n, undefined]);
    assert.deepEqual(noted({ outputTokens: 10, reasoningTokens: 3 }, more), [40n, { thinking: true }]);
    const byLength = { ...prices, above: {}, outputAbove: { '5': tokenPrices(2_000_000n) } };
    assert.deepEqual(noted({ outputTokens: 5 }, byLength), [5n, undefined]);
    assert.deepEqual(noted({ outputTokens: 6, reasoningTokens: 3 }, byLength), [12n, { outputAbove: '5' }]);
    const run = (outputTokens: number) => ({ model: null, isInside: true, usage: { ...noUsage, outputTokens } });
    assert.deepEqual(noted({ outputTokens: 9, parts: [run(6), run(3)] }, byLength), [
      15n,
      {
        steps: [
          { runs: 1, outputTokens: 3 },
          { outputAbove: '5', runs: 1, outputTokens: 6 },
        ],
      },
    ]);
  });

  it('records separately counted citations and reasoning that have no price', () => {
    const usage = { citationTokens: 3, separateReasoningTokens: 5 };
    assert.deepEqual(charge(usage).notes?.unpriced, ['citations', 'reasoning']);
    const priced = { ...prices, citationsNanoPerMillion: 2_000_000n, reasoningNanoPerMillion: 3_000_000n };
    assert.deepEqual(charge(usage, { prices: priced }).chargeNano, 21n);
  });

  it('rounds the sum of the runs once', () => {
    const halves: UnitPrices = { ...prices, ...tokenPrices(500_000n), above: { '1000': tokenPrices(500_000n) } };
    const parts = [1_001, 1].map((inputTokens) => ({
      model: null,
      isInside: true,
      usage: { ...noUsage, inputTokens },
    }));
    assert.equal(charge({ inputTokens: 1_002, parts }, { prices: halves }).chargeNano, 501n);
  });

  describe('for an inner model', () => {
    const inner = { name: 'inner', model, price: { rule: 'base' as const, prices } };
    const run = (inputTokens: number) => ({ model: 'inner', isInside: false, usage: { ...noUsage, inputTokens } });
    const cost = (runs: number[], terms: Partial<ChargeTerms> = {}, more: Partial<UsageFacts> = {}) =>
      charge({ parts: runs.map(run), ...more }, { inner: [inner], ...terms });

    it('prices each of its runs by its length', () => {
      const nano = (...runs: number[]) => cost(runs).chargeNano;
      assert.deepEqual([nano(900, 900), nano(1_001), nano(900, 1_102)], [1_800n, 2_002n, 3_104n]);
    });

    it('prices cut usage by its average run', () => {
      const short = { ...inner, model: { ...model, contextTokensMax: 1_000 } };
      assert.equal(cost([900, 1_102], { inner: [short] }).chargeNano, 2_000n);
    });

    it('is recorded with the values that determine it', () => {
      const [note] = cost([900, 1_102]).notes!.innerModels!;
      assert.deepEqual(note!.used, { inputTokens: 2_002 });
      assert.deepEqual(note!.pricedBy, {
        steps: [
          { runs: 1, inputTokens: 900 },
          { above: '1000', runs: 1, inputTokens: 1_102 },
        ],
      });
      assert.deepEqual([note!.price!.rule, note!.price!.prices.inputNanoPerMillion], ['base', '1000000']);
    });

    it('uses the plain price, or the terms of the call if they are cheaper', () => {
      const asked = (serviceTier: string) => cost([100], asking(serviceTier)).chargeNano;
      assert.deepEqual([asked('flex'), asked('priority')], [50n, 100n]);
      const served = (serviceTier: string) => cost([100], asking('flex'), { servedOn: { serviceTier } }).chargeNano;
      assert.deepEqual([served('flex'), served('default')], [50n, 100n]);
    });
  });

  describe('and its cost', () => {
    const dear: UnitPrices = { ...prices, ...tokenPrices(3_000_000n), above: { '1000': tokenPrices(5_000_000n) } };
    const costOf = (usage: Partial<UsageFacts>, terms: Partial<ChargeTerms> = {}, cost: Partial<CostTerms> = {}) =>
      charge(usage, { cost: { prices: dear, basis: 'tokens', ofInner: () => null, ...cost }, ...terms }).costNano;

    it('prices the usage at the steps and terms of the route, and does not change the charge', () => {
      assert.deepEqual([costOf({ inputTokens: 10 }), costOf({ inputTokens: 1_001 })], [30n, 5_005n]);
      assert.equal(costOf({ inputTokens: 100, servedOn: { serviceTier: 'flex' } }), 150n);
      assert.equal(costOf({ inputTokens: 10 }, { isPaid: false }), 30n);
      const usage = { inputTokens: 1_001, outputTokens: 7 };
      const withCost = charge(usage, { cost: { prices: dear, basis: 'tokens', ofInner: () => null } });
      assert.deepEqual({ ...withCost, costNano: null }, charge(usage));
    });

    it('covers all reported usage; only the charge is bounded', () => {
      const small = { ...model, contextTokensMax: 1_000, outputTokensMax: 10 };
      const cost = { prices: dear, basis: 'tokens', ofInner: () => null } as const;
      const transcript: readonly [usage: Partial<UsageFacts>, chargeNano: bigint, costNano: bigint][] = [
        [{ inputTokens: 900, outputTokens: 10 }, 910n, 2_730n],
        // The margin shows the loss: two contexts were read without an explanation.
        [{ inputTokens: 2_000, outputTokens: 15 }, 1_010n, 10_075n],
        [{ inputTokens: 2_000, outputTokens: 15, serverToolUses: 1 }, 4_030n, 10_075n],
        [{ webSearches: 1_001 }, 0n, 0n],
      ];
      for (const [usage, chargeNano, costNano] of transcript) {
        const charged = charge(usage, { model: small, cost });
        assert.deepEqual([charged.chargeNano, charged.costNano], [chargeNano, costNano], JSON.stringify(usage));
      }
      assert.deepEqual(charge({ inputTokens: 2_000 }, { model: small, cost }).notes?.excess, { inputTokens: 1_000 });
    });

    it('at the same price list equals the charge of a call within its bounds, and is never less', () => {
      const count = fc.nat(5_000);
      const usage = fc.record(byUnit(() => count));
      const limit = fc.option(fc.integer({ min: 1, max: 9_000 }));
      fc.assert(
        fc.property(usage, limit, limit, (reported, contextTokensMax, outputTokensMax) => {
          const { chargeNano, costNano, notes } = charge(reported, {
            model: { ...model, contextTokensMax, outputTokensMax },
            cost: { prices, basis: 'tokens', ofInner: () => null },
          });
          assert.ok(notes?.excess === undefined ? costNano === chargeNano : costNano! >= chargeNano);
        }),
        { numRuns: propertyRuns(300) },
      );
    });

    it('prices each listed run at its own step even if the charge was cut', () => {
      const run = (inputTokens: number) => ({ model: null, isInside: true, usage: { ...noUsage, inputTokens } });
      const usage = { inputTokens: 1_600, parts: [run(900), run(700)] };
      assert.equal(costOf(usage, { model: { ...model, contextTokensMax: 1_000 } }), 4_800n);
    });

    it('never exceeds what its database column can hold', () => {
      const prices = { ...dear, ...tokenPrices(9_000_000_000_000n), above: {} };
      const most = costOf({ inputTokens: 2_147_483_647 }, {}, { prices });
      assert.equal(most, 1_000_000_000_000_000n);
    });

    it('is unknown without cost prices, or if the provider did not report the usage that they need', () => {
      const images = [{ quality: null, size: null, count: 2 }];
      const perImage = { ...dear, perImageNano: { default: 9n } };
      assert.equal(charge({ inputTokens: 10 }).costNano, null);
      assert.equal(costOf({ images }), null);
      assert.equal(
        costOf({ images }, { input: { choices: 2, demand: plainDemand } }, { prices: perImage, basis: 'images' }),
        18n,
      );
      assert.equal(costOf({ inputTokens: 3 }, {}, { prices: perImage, basis: 'images' }), null);
    });

    it('prices inner models at their own cost, and is unknown if one has none', () => {
      const inner = { name: 'inner', model, price: { rule: 'base' as const, prices } };
      const parts = [{ model: 'inner', isInside: false, usage: { ...noUsage, inputTokens: 100 } }];
      const usage = { inputTokens: 10, parts };
      const cheap: UnitPrices = { ...prices, ...tokenPrices(7_000_000n) };
      assert.equal(costOf(usage, { inner: [inner] }), null);
      assert.equal(costOf(usage, { inner: [inner] }, { ofInner: () => cheap }), 730n);
    });
  });

  it('records the price of each image if the table has several', () => {
    const perImageNano = { low: 3n, high: { default: 70n } };
    const images = [
      { quality: 'low', size: null, count: 2 },
      { quality: 'high', size: '1x1', count: 1 },
      { quality: 'low', size: '1x1', count: 1 },
    ];
    const terms = { basis: 'images', input: { choices: 4, demand: plainDemand } } as const;
    const { chargeNano, notes } = charge({ images }, { ...terms, prices: { ...prices, perImageNano } });
    assert.equal(chargeNano, 79n);
    assert.deepEqual(notes?.pricedBy, {
      images: [
        { count: 3, priceNano: '3' },
        { count: 1, priceNano: '70' },
      ],
    });
    const flat = charge({ images }, { ...terms, prices: { ...prices, perImageNano: { default: 3n } } });
    assert.deepEqual([flat.chargeNano, flat.notes], [12n, undefined]);
  });
});
