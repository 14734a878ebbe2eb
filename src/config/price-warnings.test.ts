import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from './load.ts';
import { priceWarnings } from './price-warnings.ts';

const warningsOf = (operations: string, price: string, limit = '1000') =>
  priceWarnings(
    parseConfig(
      `
providers: { acme: { protocol: chat, baseUrl: https://acme.example/v1, apiKey: key } }
models: { m: { operations: [${operations}], price: ${price}, ${limit === '' ? '' : `maxOutputTokens: ${limit}, `}routes: [{ provider: acme, model: m-1 }] } }
`,
      'test.yaml',
      {},
    ),
  ).map(({ key, message }) => `${key}: ${key.endsWith('maxOutputTokens') ? message : message.replace(/.*: /, '')}`);

describe('warnings of a configuration', () => {
  it('name the prices of tools that a model may use and does not have', () => {
    assert.deepEqual(warningsOf('chat', '{ input: "1", output: "1" }'), ['models.m.price: perWebSearch, perToolUse.']);
    assert.deepEqual(warningsOf('chat, responses', '{ input: "1", output: "1", perWebSearch: "0" }'), [
      'models.m.price: perToolUse, perFileSearch, perCodeExecution, perContainer.',
    ]);
  });

  it('are none if every tool has a price, zero included, or the model has no tools', () => {
    assert.deepEqual(warningsOf('chat', '{ input: "1", output: "1", perWebSearch: "0.07", perToolUse: "0" }'), []);
    assert.deepEqual(warningsOf('embeddings, rerank', '{ input: "1" }'), []);
  });

  it('name the models whose output has no limit', () => {
    const free =
      '{ input: "1", output: "1", perWebSearch: "0", perToolUse: "0", perWebFetch: "0", perFileSearch: "0", perCodeExecution: "0", perContainer: "0" }';
    for (const operation of ['chat', 'messages', 'responses']) {
      const [warning, ...others] = warningsOf(operation, free, '');
      assert.match(warning!, /^models\.m\.maxOutputTokens: .*4096 tokens are reserved/);
      assert.deepEqual(others, []);
    }
    assert.deepEqual(warningsOf('embeddings, rerank', '{ input: "1" }', ''), []);
  });

  it('are about the price lists that are in force', () => {
    const list = '{ input: "1", output: "1" }';
    const day = `{ id: d, timezone: UTC, peak: { hours: ["09:00-21:00"], input: "1", output: "1", perWebSearch: "0", perToolUse: "0" }, offPeak: ${list} }`;
    assert.deepEqual(warningsOf('chat', `{ input: "1", output: "1", timeOfDay: ${day} }`), [
      'models.m.price.timeOfDay.offPeak: perWebSearch, perToolUse.',
    ]);
  });
});
