import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matches } from './model-list.ts';
import { type PricedEntry, readEntry } from './price-file.ts';

const RATES = { cost: { digits: 10n, scale: 0 }, price: { digits: 11n, scale: 0 } };
const priced = (entry: object): PricedEntry => {
  const read = readEntry({ mode: 'chat', ...entry }, RATES);
  assert.ok(typeof read === 'object', String(read));
  return read;
};
const CHAT = { input_cost_per_token: 1e-6, output_cost_per_token: 4e-6 };

describe('an entry of a price file', () => {
  it('becomes cost and price in yuan per million tokens', () => {
    const { cost, price, unpriced } = priced({ ...CHAT, cache_read_input_token_cost: 1.25e-7 });
    assert.deepEqual(cost, { input: '10', cachedInput: '1.25', output: '40' });
    assert.deepEqual(price, { input: '11', cachedInput: '1.375', output: '44' });
    assert.deepEqual(unpriced, []);
  });

  it('has a tier if its prices have a common factor, and else reports it as unpriced', () => {
    const tier = { input_cost_per_token_priority: 1.7e-6, output_cost_per_token_priority: 6.8e-6 };
    assert.deepEqual(priced({ ...CHAT, ...tier }).cost.serviceTiers, { priority: '1.7' });
    const other = priced({ ...CHAT, ...tier, cache_read_input_token_cost: 2e-7 });
    assert.equal(other.cost.serviceTiers, undefined);
    assert.deepEqual(other.unpriced, ['input_cost_per_token_priority', 'output_cost_per_token_priority']);
  });

  it('has steps with all prices, and is left out if a price is missing', () => {
    const step = { input_cost_per_token_above_200k_tokens: 2e-6, output_cost_per_token_above_200k_tokens: 6e-6 };
    assert.deepEqual(priced({ ...CHAT, ...step }).cost.above, { 200000: { input: '20', output: '60' } });
    const cached = { cache_read_input_token_cost: 1e-7 };
    assert.equal(
      readEntry({ mode: 'chat', ...CHAT, ...step, ...cached }, RATES),
      'no price of cachedInput above 200000 tokens',
    );
    // What costs as input does so in the step, too.
    assert.deepEqual(priced({ ...CHAT, ...step, input_cost_per_image_token: 1e-6 }).cost.above, {
      200000: { input: '20', output: '60' },
    });
  });

  it('has steps in a list of contiguous ranges', () => {
    const ranges = (second: number, more: object = {}) => ({
      tiered_pricing: [
        { input_cost_per_token: 1e-6, output_cost_per_token: 4e-6, ...more, range: [0, 32_000] },
        { input_cost_per_token: 2e-6, output_cost_per_token: 6e-6, ...more, range: [second, 128_000] },
      ],
    });
    const { cost, unpriced } = priced(ranges(32_000));
    assert.deepEqual(cost, { input: '10', output: '40', above: { 32000: { input: '20', output: '60' } } });
    assert.deepEqual(unpriced, []);
    assert.match(String(readEntry({ mode: 'chat', ...ranges(64_000) }, RATES)), /are not contiguous/);
    // It is that of the first range alone.
    assert.equal(
      readEntry({ mode: 'chat', ...ranges(32_000, { output_cost_per_reasoning_token: 4e-6 }) }, RATES),
      'reasoning tokens have another price than output',
    );
  });

  it('is charged only by the image if images have a price', () => {
    const { cost, unpriced } = priced({ ...CHAT, mode: 'image_generation', output_cost_per_image: 0.5 });
    assert.deepEqual(cost, { perImage: { default: '5' } });
    assert.deepEqual(unpriced, ['input_cost_per_token', 'output_cost_per_token']);
    const ofChat = { mode: 'chat', output_cost_per_image: 0.5, input_cost_per_token: 1e-6, output_cost_per_token: 0 };
    assert.equal(readEntry(ofChat, RATES), 'no price of output');
  });

  it('is left out if a call could cost more than the list has', () => {
    for (const [entry, why] of [
      [{ input_cost_per_token: 1e-6 }, 'no price of output'],
      [{ ...CHAT, input_cost_per_token: 0 }, 'no price of input'],
      [{ ...CHAT, output_cost_per_reasoning_token: 5e-6 }, 'reasoning tokens have another price than output'],
    ] as const) {
      assert.equal(readEntry({ mode: 'chat', ...entry }, RATES), why);
    }
    assert.deepEqual(priced({ ...CHAT, output_cost_per_reasoning_token: 4e-6 }).unpriced, []);
  });

  it('reports prices that the list cannot express, except prices of batches', () => {
    const more = { input_cost_per_video_token: 3e-6, input_cost_per_token_batches: 5e-7, citation_cost_per_token: 0 };
    assert.deepEqual(priced({ ...CHAT, ...more }).unpriced, ['input_cost_per_video_token']);
  });

  it('has the factors of a region and of a speed', () => {
    const { cost, unpriced } = priced({
      ...CHAT,
      provider_specific_entry: { us: '1.1', fast: 2, realtime_ga_only: 1 },
    });
    assert.deepEqual([cost.inferenceGeos, cost.speeds, unpriced], [{ us: '1.1' }, { fast: '2' }, []]);
  });

  it('reports prices by the hour, the region of an address or a free count', () => {
    const more = {
      off_peak_pricing: { input_cost_per_token: 5e-7 },
      regional_processing_uplift_multiplier_eu: 1.1,
      search_free_requests: { count: 5_000, period: 'month' },
    };
    assert.deepEqual(priced({ ...CHAT, ...more }).unpriced, Object.keys(more));
  });

  it('prices searches that cost the same for each context size', () => {
    const sizes = (low: number, high: number) => ({ search_context_cost_per_query: { low, high } });
    assert.equal(priced({ ...CHAT, ...sizes(0.01, 0.01) }).cost.perWebSearch, '0.1');
    assert.deepEqual(priced({ ...CHAT, ...sizes(0.01, 0.02) }).unpriced, ['search_context_cost_per_query']);
  });
});

describe('a pattern', () => {
  it('matches any text with *', () => {
    for (const [pattern, name, isOne] of [
      ['gpt-4o', 'gpt-4o', true],
      ['gpt-4o', 'gpt-4o-mini', false],
      ['gpt-*', 'gpt-4o', true],
      ['*mini*', 'gpt-4o-mini', true],
      ['a*a', 'a', false],
      ['a*b*c', 'axbxc', true],
      ['*', '', true],
    ] as const) {
      assert.equal(matches(pattern, name), isOne, `${pattern} ${name}`);
    }
  });
});
