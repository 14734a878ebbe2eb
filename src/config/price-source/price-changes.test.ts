import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { editCatalog } from '../catalog-text.ts';
import { parseConfig } from '../load.ts';
import { followedModels } from './lookups.ts';
import { priceChanges } from './price-changes.ts';
import { readSourcePrices } from './source-prices.ts';

const TEXT = `# Ours.
providers:
  openai: { protocol: chat, baseUrl: "https://api.openai.com/v1", apiKey: none }
  relay: { protocol: chat, baseUrl: "https://relay.example/v1", apiKey: none }
models:
  large:   # the best one
    operations: [chat]
    price: { input: "12", output: "48" } # with margin
    routes: [{ provider: openai, model: gpt-large, cost: { input: "10", output: "40" } }]
  relayed:
    operations: [chat]
    price: { input: "12", output: "48" }
    routes: [{ provider: relay, model: any }]
`;
const SOURCE = { models: ['*'], names: {} };
const TERMS = { usdCny: '10', marginPercent: '20' };
const LARGE = { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 4e-6 };

interface Given {
  readonly text?: string;
  readonly large?: object;
  readonly source?: Parameters<typeof followedModels>[1];
}

function follow({ text = TEXT, large = {}, source = SOURCE }: Given) {
  const config = parseConfig(text, 'f', {});
  const followed = followedModels(config, source);
  const lookups = followed.flatMap(({ price, costs }) => [
    ...(price === null ? [] : [price]),
    ...costs.map(({ lookup }) => lookup),
  ]);
  const prices = readSourcePrices(JSON.stringify({ 'gpt-large': { ...LARGE, ...large } }), lookups, TERMS);
  const { changes, notFollowed } = priceChanges(config, followed, prices);
  return {
    changes,
    text: editCatalog(
      text,
      changes.flatMap(({ edits }) => edits),
    ),
    notFollowed: notFollowed.map(({ model, why }) => `${model}: ${why}`),
  };
}

const priced = (price: string): string => TEXT.replace('{ input: "12", output: "48" } #', `${price} #`);
const RELAYED = 'relayed: no address of its providers is one of a known vendor';

describe('prices that follow a source', () => {
  it('change nothing while they are equal', () => {
    const { changes, notFollowed } = follow({});
    assert.deepEqual([changes, notFollowed], [[], [RELAYED]]);
    assert.deepEqual(follow({ text: TEXT.replace('"12"', '"12.00"') }).changes, []);
  });

  it('change price and cost, and nothing else of the text', () => {
    const { changes, text } = follow({ large: { input_cost_per_token: 1.5e-6 } });
    assert.equal(text, TEXT.replace('input: "12"', 'input: "18"').replace('input: "10"', 'input: "15"'));
    assert.deepEqual([changes[0]!.isWithin(49), changes[0]!.isWithin(50)], [false, true]);
    const cheaper = follow({ large: { input_cost_per_token: 9.5e-7 } }).changes[0]!;
    assert.deepEqual([cheaper.isWithin(4), cheaper.isWithin(5)], [false, true]);
  });

  it('are those of the name that the source sets for a model', () => {
    const source = { ...SOURCE, names: { relayed: 'openai/gpt-large' } };
    const { text, notFollowed } = follow({ large: { output_cost_per_token: 5e-6 }, source });
    assert.match(text, /relayed:\n {4}operations: \[chat\]\n {4}price: \{ input: "12", output: "60" \}/);
    assert.deepEqual(notFollowed, []);
  });

  it('are those of the wanted models only', () => {
    const { changes, notFollowed } = follow({
      large: { output_cost_per_token: 5e-6 },
      source: { ...SOURCE, models: ['rel*'] },
    });
    assert.deepEqual([changes, notFollowed], [[], [RELAYED]]);
  });

  it('never begin to be free or negative', () => {
    for (const input_cost_per_token of [0, -1e-6, '-1e-6', null, 'free', '9'.repeat(1_000_000)]) {
      const { changes, notFollowed } = follow({ large: { input_cost_per_token } });
      assert.deepEqual(changes, []);
      assert.match(notFollowed[0]!, /^large: no price of input$/);
    }
  });

  it('never become so small or large that they cannot be charged', () => {
    for (const input_cost_per_token of ['1e-99', 1e-20, 1e300, '1e999']) {
      const { changes, notFollowed } = follow({ large: { input_cost_per_token } });
      assert.deepEqual(changes, []);
      assert.equal(notFollowed[0], 'large: the source has an impossible price of input');
    }
  });

  it('of a changed free price are within no bound', () => {
    const { changes } = follow({ text: priced('{ input: "0", output: "48" }') });
    assert.equal(changes[0]!.isWithin(100), false);
  });

  it('are not added, but named', () => {
    const { text, notFollowed } = follow({
      large: {
        cache_read_input_token_cost: 1e-7,
        output_cost_per_token_above_200k_tokens: 6e-6,
        input_cost_per_token_above_200k_tokens: 2e-6,
        cache_read_input_token_cost_above_200k_tokens: 2e-7,
      },
    });
    assert.equal(text, TEXT);
    assert.equal(notFollowed[0], 'large: the source also has prices that the catalog lacks: cachedInput, above');
  });

  it('that cost as input follow it', () => {
    const { text } = follow({
      text: priced('{ input: "12", cachedInput: "12", output: "48" }'),
      large: { input_cost_per_token: 2e-6, cache_read_input_token_cost: 2e-6 },
    });
    assert.match(text, /price: \{ input: "24", cachedInput: "24", output: "48" \} # with margin/);
  });

  it('have the steps of the source, with the prices of the list', () => {
    const steps = (length: string) => ({
      [`input_cost_per_token_above_${length}_tokens`]: 2e-6,
      [`output_cost_per_token_above_${length}_tokens`]: 6e-6,
    });
    const text = priced('{ input: "12", output: "48", above: { 200000: { input: "24", output: "70" } } }');
    const same = follow({ text, large: steps('200k') });
    assert.match(same.text, /above: \{ 200000: \{ input: "24", output: "72" \} \}/);
    assert.equal(same.changes[0]!.isWithin(5), true);
    const moved = follow({ text, large: steps('128k') });
    assert.match(moved.text, /above: \{ "?128000"?: \{ input: "24", output: "72" \} \}/);
    assert.equal(moved.changes[0]!.isWithin(100), false);
    assert.match(follow({ text }).notFollowed[0]!, /^large: the source has no prices by the length of the input$/);
  });

  it('have the factors that the list has', () => {
    const tiers = { input_cost_per_token_priority: 2e-6, output_cost_per_token_priority: 8e-6 };
    const { text } = follow({
      text: priced('{ input: "12", output: "48", serviceTiers: { priority: "1.5", scale: "3" } }'),
      large: tiers,
    });
    assert.match(text, /serviceTiers: \{ priority: "2", scale: "3" \}/);
  });

  for (const [price, why] of [
    ['{ input: "12", output: "48", later: [{ from: 2099-01-01, input: "1", output: "1" }] }', 'it has later prices'],
    [
      '{ input: "12", output: "48", thinking: { input: "12", output: "50" } }',
      'its prices depend on reasoning or the length of the output',
    ],
    [
      '{ input: "12", output: "48", timeOfDay: { id: d, timezone: Asia/Shanghai, peak: { hours: ["09:00-21:00"], input: "1", output: "1" }, offPeak: { input: "1", output: "1" } } }',
      'its prices depend on the time of day',
    ],
  ] as const) {
    it(`stay if ${why}`, () => {
      const { text, notFollowed } = follow({ text: priced(price), large: { output_cost_per_token: 5e-6 } });
      assert.match(text, /cost: \{ input: "10", output: "50" \}/);
      assert.ok(text.includes(price), text);
      assert.equal(notFollowed[0], `large: ${why}`);
    });
  }
});
