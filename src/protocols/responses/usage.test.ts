import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { readResponsesUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
const counted: Usage = { ...noUsage, inputTokens: 100, outputTokens: 20 };

describe('responses usage', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['uses the totals if there are no details', totals, counted],
    [
      'counts the rest of the total as output if only the total includes reasoning',
      { ...totals, total_tokens: 150, output_tokens_details: { reasoning_tokens: 30 } },
      { ...noUsage, inputTokens: 100, outputTokens: 50, reasoningTokens: 30 },
    ],
    [
      'uses the reported output if the total is lower, missing or invalid',
      { input_tokens: 100, output_tokens: 20, total_tokens: -1 },
      counted,
    ],
    [
      'subtracts cached and written tokens from input, and keeps reasoning within output',
      {
        ...totals,
        input_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
        output_tokens_details: { reasoning_tokens: 8 },
      },
      {
        ...noUsage,
        inputTokens: 60,
        cachedInputTokens: 30,
        cacheWriteTokens: 10,
        outputTokens: 20,
        reasoningTokens: 8,
      },
    ],
    [
      'distinguishes long-lived writes from others',
      {
        ...totals,
        input_tokens_details: {
          cache_write_tokens: 50,
          cache_write_tokens_details: { ttl_30m_tokens: 15, ttl_12h_tokens: 35 },
        },
      },
      { ...noUsage, inputTokens: 50, cacheWriteTokens: 15, cacheWrite1hTokens: 35, outputTokens: 20 },
    ],
    [
      'treats writes without a lifetime as short-lived',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens: 50, cache_write_tokens_details: { ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 50, cacheWriteTokens: 15, cacheWrite1hTokens: 35, outputTokens: 20 },
    ],
    [
      'adds the lifetimes if their total is missing',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens_details: { ttl_30m_tokens: 15, ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 50, cacheWriteTokens: 15, cacheWrite1hTokens: 35, outputTokens: 20 },
    ],
    [
      'limits long-lived writes to the written total',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens: 10, cache_write_tokens_details: { ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 90, cacheWrite1hTokens: 10, outputTokens: 20 },
    ],
    [
      'limits cached tokens to the total',
      { ...totals, input_tokens_details: { cached_tokens: 101, cache_write_tokens: 3 } },
      { ...noUsage, cachedInputTokens: 100, outputTokens: 20 },
    ],
    [
      'limits written tokens to the total minus cached tokens',
      { ...totals, input_tokens_details: { cached_tokens: 70, cache_write_tokens: 70 } },
      { ...noUsage, cachedInputTokens: 70, cacheWriteTokens: 30, outputTokens: 20 },
    ],
    [
      'limits reasoning tokens to the total',
      { ...totals, output_tokens_details: { reasoning_tokens: 21 } },
      { ...counted, reasoningTokens: 20 },
    ],
    [
      'counts null and invalid details as 0',
      {
        ...totals,
        input_tokens_details: { cached_tokens: null, cache_write_tokens: -1, cache_write_tokens_details: null },
        output_tokens_details: { reasoning_tokens: 'eight' },
      },
      counted,
    ],
    [
      'ignores details that are not objects',
      { ...totals, input_tokens_details: [40], output_tokens_details: null },
      counted,
    ],
    [
      'does not count cache tokens as output if only the total includes them',
      { input_tokens: 368, output_tokens: 19, total_tokens: 10_923, cache_read_input_tokens: 10_536 },
      { ...noUsage, inputTokens: 368, cachedInputTokens: 10_536, outputTokens: 19 },
    ],
    [
      'distinguishes reasoning from an equal number of cache tokens',
      {
        ...totals,
        total_tokens: 150,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens_details: { reasoning_tokens: 30 },
      },
      { ...noUsage, inputTokens: 70, cachedInputTokens: 30, outputTokens: 50, reasoningTokens: 30 },
    ],
    ['does not require total_tokens', { input_tokens: 100, output_tokens: 20 }, counted],
    ['accepts totals of zero', { input_tokens: 0, output_tokens: 0 }, noUsage],
  ];
  for (const [what, usage, facts] of cases) {
    it(what, () => {
      assert.deepEqual(readResponsesUsage(usage), facts);
    });
  }

  it('trusts a total only up to the output limit of the request', () => {
    const read = (outputTokensMax: number, response = {}) => {
      const usage = readResponsesUsage({ ...totals, total_tokens: 9_100 }, response, { outputTokensMax })!;
      return [usage.outputTokens, usage.unexplained];
    };
    assert.deepEqual(read(9_000), [9_000, undefined]);
    assert.deepEqual(read(8_999), [20, ['usage.total_tokens']]);
    assert.deepEqual(read(4_500, { output: [{ type: 'mcp_call' }] }), [9_000, undefined]);
  });

  it('is unusable without two valid totals', () => {
    for (const [total, wrong] of [
      ['input_tokens', undefined],
      ['output_tokens', undefined],
      ['output_tokens', null],
      ['input_tokens', -1],
      ['output_tokens', 1.5],
      ['output_tokens', 'many'],
      ['input_tokens', TOKEN_COUNT_MAX + 1],
    ] as const) {
      assert.equal(readResponsesUsage({ ...totals, [total]: wrong }), null, `${total}: ${wrong}`);
    }
    for (const usage of [null, [100, 20], { prompt_tokens: 100, completion_tokens: 20 }]) {
      assert.equal(readResponsesUsage(usage), null);
    }
  });

  it('never counts a token twice, whatever the details', () => {
    const anything = fc.oneof(fc.nat({ max: 300 }), fc.integer(), fc.double(), fc.constantFrom(null, '7', {}, []));
    const usage = fc.record({
      input_tokens: fc.nat({ max: 200 }),
      output_tokens: fc.nat({ max: 200 }),
      input_tokens_details: fc.record(
        {
          cached_tokens: anything,
          cache_write_tokens: anything,
          cache_write_tokens_details: fc.record({ ttl_30m_tokens: anything, ttl_12h_tokens: anything }),
        },
        { requiredKeys: [] },
      ),
      output_tokens_details: fc.record({ reasoning_tokens: anything }),
    });
    fc.assert(
      fc.property(usage, (reported) => {
        const {
          images,
          parts: _parts,
          servedOn: _terms,
          unexplained: _places,
          ...counts
        } = readResponsesUsage(reported)!;
        const cached = counts.cachedInputTokens + counts.cacheWriteTokens + counts.cacheWrite1hTokens;
        // An input that is too small for its cache excludes the cache completely.
        const isOutside = cached > reported.input_tokens;
        assert.equal(counts.inputTokens + (isOutside ? 0 : cached), reported.input_tokens);
        assert.equal(counts.outputTokens, reported.output_tokens);
        assert.ok(counts.reasoningTokens <= counts.outputTokens);
        assert.ok(Object.values(counts).every((count) => Number.isInteger(count) && count >= 0));
        assert.deepEqual(images, []);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
