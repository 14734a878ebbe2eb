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
    ['takes the totals if there are no details', totals, counted],
    [
      'takes for output what the input leaves of the total, if reasoning counts in the total alone',
      { ...totals, total_tokens: 150, output_tokens_details: { reasoning_tokens: 30 } },
      { ...noUsage, inputTokens: 100, outputTokens: 50, reasoningTokens: 30 },
    ],
    [
      'takes the stated output if the total is less, missing or no count',
      { input_tokens: 100, output_tokens: 20, total_tokens: -1 },
      counted,
    ],
    [
      'takes cached and written tokens out of the input and leaves reasoning inside the output',
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
      'tells long-lived writes from the others',
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
      'takes writes of no stated lifetime for short-lived ones',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens: 50, cache_write_tokens_details: { ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 50, cacheWriteTokens: 15, cacheWrite1hTokens: 35, outputTokens: 20 },
    ],
    [
      'adds the lifetimes up if their total is missing',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens_details: { ttl_30m_tokens: 15, ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 50, cacheWriteTokens: 15, cacheWrite1hTokens: 35, outputTokens: 20 },
    ],
    [
      'cuts long-lived writes above the written total to it',
      {
        ...totals,
        input_tokens_details: { cache_write_tokens: 10, cache_write_tokens_details: { ttl_12h_tokens: 35 } },
      },
      { ...noUsage, inputTokens: 90, cacheWrite1hTokens: 10, outputTokens: 20 },
    ],
    [
      'cuts a cached count above the total to the total',
      { ...totals, input_tokens_details: { cached_tokens: 101, cache_write_tokens: 3 } },
      { ...noUsage, cachedInputTokens: 100, outputTokens: 20 },
    ],
    [
      'cuts a written count to what the cached count leaves of the total',
      { ...totals, input_tokens_details: { cached_tokens: 70, cache_write_tokens: 70 } },
      { ...noUsage, cachedInputTokens: 70, cacheWriteTokens: 30, outputTokens: 20 },
    ],
    [
      'cuts a reasoning count above the total to the total',
      { ...totals, output_tokens_details: { reasoning_tokens: 21 } },
      { ...counted, reasoningTokens: 20 },
    ],
    [
      'counts details that are null, or that are no counts, as 0',
      {
        ...totals,
        input_tokens_details: { cached_tokens: null, cache_write_tokens: -1, cache_write_tokens_details: null },
        output_tokens_details: { reasoning_tokens: 'eight' },
      },
      counted,
    ],
    [
      'takes details that are no objects for no details',
      { ...totals, input_tokens_details: [40], output_tokens_details: null },
      counted,
    ],
    [
      'takes no tokens of the cache for output if they count in the total alone',
      { input_tokens: 368, output_tokens: 19, total_tokens: 10_923, cache_read_input_tokens: 10_536 },
      { ...noUsage, inputTokens: 368, cachedInputTokens: 10_536, outputTokens: 19 },
    ],
    [
      'tells reasoning from a cache of the same size',
      {
        ...totals,
        total_tokens: 150,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens_details: { reasoning_tokens: 30 },
      },
      { ...noUsage, inputTokens: 70, cachedInputTokens: 30, outputTokens: 50, reasoningTokens: 30 },
    ],
    ['does not need the sum of the totals', { input_tokens: 100, output_tokens: 20 }, counted],
    ['takes totals of zero for what they are', { input_tokens: 0, output_tokens: 0 }, noUsage],
  ];
  for (const [what, usage, facts] of cases) {
    it(what, () => {
      assert.deepEqual(readResponsesUsage(usage), facts);
    });
  }

  it('believes a total only as far as the request allows output', () => {
    const read = (outputTokensMax: number, response = {}) => {
      const usage = readResponsesUsage({ ...totals, total_tokens: 9_100 }, response, { outputTokensMax })!;
      return [usage.outputTokens, usage.unexplained];
    };
    assert.deepEqual(read(9_000), [9_000, undefined]);
    assert.deepEqual(read(8_999), [20, ['usage.total_tokens']]);
    assert.deepEqual(read(4_500, { output: [{ type: 'mcp_call' }] }), [9_000, undefined]);
  });

  it('cannot be billed without two totals that are counts', () => {
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

  it('never bills a token twice, whatever the details say', () => {
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
        // An input that is too small for its cache leaves all of it out.
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
