import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { readResponsesUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };

describe('responses usage', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['takes the totals if there are no details', totals, { ...noUsage, inputTokens: 100, outputTokens: 20 }],
    [
      'takes for output what the input leaves of the total, if reasoning counts in the total alone',
      { ...totals, total_tokens: 150, output_tokens_details: { reasoning_tokens: 30 } },
      { ...noUsage, inputTokens: 100, outputTokens: 50, reasoningTokens: 30 },
    ],
    [
      'takes the stated output if the total is less, missing or no count',
      { input_tokens: 100, output_tokens: 20, total_tokens: -1 },
      { ...noUsage, inputTokens: 100, outputTokens: 20 },
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
      { ...noUsage, inputTokens: 100, outputTokens: 20, reasoningTokens: 20 },
    ],
    [
      'counts details that are null, or that are no counts, as 0',
      {
        ...totals,
        input_tokens_details: { cached_tokens: null, cache_write_tokens: -1, cache_write_tokens_details: null },
        output_tokens_details: { reasoning_tokens: 'eight' },
      },
      { ...noUsage, inputTokens: 100, outputTokens: 20 },
    ],
    [
      'takes details that are no objects for no details',
      { ...totals, input_tokens_details: [40], output_tokens_details: null },
      { ...noUsage, inputTokens: 100, outputTokens: 20 },
    ],
    [
      'does not need the sum of the totals',
      { input_tokens: 100, output_tokens: 20 },
      { ...noUsage, inputTokens: 100, outputTokens: 20 },
    ],
    ['takes totals of zero for what they are', { input_tokens: 0, output_tokens: 0 }, noUsage],
    ['cannot be billed without input', { output_tokens: 20 }, null],
    ['cannot be billed without output', { input_tokens: 100 }, null],
    ['cannot be billed if a total is null', { input_tokens: 100, output_tokens: null }, null],
    ['cannot be billed if a total is negative', { ...totals, input_tokens: -1 }, null],
    ['cannot be billed if a total is a fraction', { ...totals, output_tokens: 1.5 }, null],
    ['cannot be billed if a total is a word', { ...totals, output_tokens: 'many' }, null],
    ['cannot be billed if a total is beyond belief', { ...totals, input_tokens: TOKEN_COUNT_MAX + 1 }, null],
    ['cannot be billed by the counts of chat', { prompt_tokens: 100, completion_tokens: 20 }, null],
    ['cannot be billed if it is null', null, null],
    ['cannot be billed if it is no object', [100, 20], null],
  ];
  for (const [what, usage, facts] of cases) {
    it(what, () => {
      assert.deepEqual(readResponsesUsage(usage), facts);
    });
  }

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
        assert.equal(
          counts.inputTokens + counts.cachedInputTokens + counts.cacheWriteTokens + counts.cacheWrite1hTokens,
          reported.input_tokens,
        );
        assert.equal(counts.outputTokens, reported.output_tokens);
        assert.ok(counts.reasoningTokens <= counts.outputTokens);
        assert.ok(Object.values(counts).every((count) => Number.isInteger(count) && count >= 0));
        assert.deepEqual(images, []);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
