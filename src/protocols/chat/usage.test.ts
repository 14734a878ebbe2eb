import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { noUsage, TOKEN_COUNT_MAX, type Usage } from '../metering/usage-facts.ts';
import { readChatUsage } from './usage.ts';

const totals = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const counted: Usage = { ...noUsage, inputTokens: 100, outputTokens: 20 };

describe('chat usage', () => {
  const cases: readonly [what: string, usage: unknown, facts: Usage | null][] = [
    ['uses the totals if there are no details', totals, counted],
    [
      'counts the rest of the total as output if only the total includes reasoning',
      { ...totals, total_tokens: 150, completion_tokens_details: { reasoning_tokens: 30 } },
      { ...noUsage, inputTokens: 100, outputTokens: 50, reasoningTokens: 30 },
    ],
    [
      'does not count cache tokens as output if only the total includes them',
      { prompt_tokens: 368, completion_tokens: 19, total_tokens: 10_923, cache_read_input_tokens: 10_536 },
      { ...noUsage, inputTokens: 368, cachedInputTokens: 10_536, outputTokens: 19 },
    ],
    [
      'does not count cache writes as output if only the total includes them',
      {
        prompt_tokens: 130,
        completion_tokens: 20,
        total_tokens: 200,
        prompt_tokens_details: { cached_tokens: 30 },
        cache_creation_input_tokens: 50,
      },
      { ...noUsage, inputTokens: 100, cachedInputTokens: 30, cacheWriteTokens: 50, outputTokens: 20 },
    ],
    [
      'uses the reported output if the total is lower, missing or invalid',
      { prompt_tokens: 100, completion_tokens: 20, total_tokens: -1 },
      counted,
    ],
    [
      'subtracts cached and written tokens from input, and keeps reasoning within output',
      {
        ...totals,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10, audio_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 8 },
      },
      {
        ...noUsage,
        inputTokens: 55,
        cachedInputTokens: 30,
        cacheWriteTokens: 10,
        audioInputTokens: 5,
        outputTokens: 20,
        reasoningTokens: 8,
      },
    ],
    [
      'subtracts audio, images and video frames from the totals',
      {
        ...totals,
        prompt_tokens_details: { audio_tokens: 10, image_tokens: 20, video_tokens: 5, text_tokens: 65 },
        completion_tokens_details: { audio_tokens: 12, image_tokens: 3, text_tokens: 5 },
      },
      {
        ...noUsage,
        inputTokens: 65,
        audioInputTokens: 10,
        imageInputTokens: 25,
        outputTokens: 5,
        audioOutputTokens: 12,
        imageOutputTokens: 3,
      },
    ],
    [
      'counts tools by kind (OpenRouter)',
      { ...totals, server_tool_use: { web_search_requests: 2, tool_calls_executed: 3, tool_calls_requested: 4 } },
      { ...counted, webSearches: 2, otherToolUses: 1, serverToolUses: 9 },
    ],
    [
      'counts tools by kind (xAI)',
      {
        ...totals,
        server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1, code_interpreter_calls: 3 },
      },
      { ...counted, webSearches: 2, otherToolUses: 1, codeExecutions: 3, serverToolUses: 6 },
    ],
    [
      'counts searches (Perplexity)',
      { ...totals, num_search_queries: 3 },
      { ...counted, webSearches: 3, serverToolUses: 3 },
    ],
    [
      'counts searches (DashScope)',
      { ...totals, plugins: { search: { count: 1, strategy: 'turbo' } } },
      { ...counted, webSearches: 1, serverToolUses: 1 },
    ],
    [
      'reads top-level cache hits (DeepSeek)',
      { ...totals, prompt_cache_hit_tokens: 40, prompt_cache_miss_tokens: 60 },
      { ...noUsage, inputTokens: 60, cachedInputTokens: 40, outputTokens: 20 },
    ],
    [
      'reads top-level cached tokens (Moonshot)',
      { ...totals, cached_tokens: 25 },
      { ...noUsage, inputTokens: 75, cachedInputTokens: 25, outputTokens: 20 },
    ],
    [
      'counts cached tokens once if they are reported in several places',
      { ...totals, prompt_tokens_details: { cached_tokens: 40 }, prompt_cache_hit_tokens: 40, cached_tokens: 40 },
      { ...noUsage, inputTokens: 60, cachedInputTokens: 40, outputTokens: 20 },
    ],
    [
      'tries the next place if a detail is null',
      { ...totals, prompt_tokens_details: { cached_tokens: null }, prompt_cache_hit_tokens: null, cached_tokens: 25 },
      { ...noUsage, inputTokens: 75, cachedInputTokens: 25, outputTokens: 20 },
    ],
    [
      'counts null details as 0',
      {
        ...totals,
        prompt_tokens_details: { cached_tokens: null, cache_write_tokens: null },
        completion_tokens_details: { reasoning_tokens: null },
      },
      counted,
    ],
    [
      'treats null details as absent',
      { ...totals, prompt_tokens_details: null, completion_tokens_details: null },
      counted,
    ],
    [
      'ignores details that are not objects',
      { ...totals, prompt_tokens_details: [40], completion_tokens_details: 'none' },
      counted,
    ],
    [
      'limits cached tokens to the total',
      { ...totals, prompt_tokens_details: { cached_tokens: 101 } },
      { ...noUsage, cachedInputTokens: 100, outputTokens: 20 },
    ],
    [
      'limits written tokens to the total minus cached tokens',
      { ...totals, prompt_tokens_details: { cached_tokens: 70, cache_write_tokens: 70 } },
      { ...noUsage, cachedInputTokens: 70, cacheWriteTokens: 30, outputTokens: 20 },
    ],
    [
      'limits reasoning tokens to the total',
      { ...totals, completion_tokens_details: { reasoning_tokens: 21 } },
      { ...counted, reasoningTokens: 20 },
    ],
    ['does not require total_tokens', { prompt_tokens: 100, completion_tokens: 20 }, counted],
    ['accepts totals of zero', { prompt_tokens: 0, completion_tokens: 0 }, noUsage],
    [
      'reads counts in strings',
      { prompt_tokens: '100', completion_tokens: '20', prompt_tokens_details: { cached_tokens: '30' } },
      { ...noUsage, inputTokens: 70, cachedInputTokens: 30, outputTokens: 20 },
    ],
    [
      'subtracts writes by lifetime from input (DashScope)',
      {
        ...totals,
        prompt_tokens_details: {
          cached_tokens: 0,
          cache_type: 'ephemeral',
          cache_creation_input_tokens: 70,
          cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 30 },
        },
      },
      { ...noUsage, inputTokens: 30, cacheWriteTokens: 40, cacheWrite1hTokens: 30, outputTokens: 20 },
    ],
    [
      'counts each cache token once, even if a relay reports it under several names',
      {
        ...totals,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 10, cache_creation_tokens: 10 },
        cache_read_input_tokens: 60,
        cache_creation_input_tokens: 10,
        claude_cache_creation_1_h_tokens: 10,
      },
      { ...noUsage, inputTokens: 30, cachedInputTokens: 60, cacheWrite1hTokens: 10, outputTokens: 20 },
    ],
    [
      'adds cache tokens to a prompt that is too small to include them',
      {
        prompt_tokens: 31,
        completion_tokens: 467,
        total_tokens: 498,
        cache_creation_input_tokens: 1_253,
        cache_read_input_tokens: 0,
      },
      { ...noUsage, inputTokens: 31, cacheWriteTokens: 1_253, outputTokens: 467 },
    ],
    [
      'adds them under any name if one count exceeds the prompt',
      {
        prompt_tokens: 31,
        completion_tokens: 467,
        total_tokens: 498,
        prompt_tokens_details: { cached_tokens: 1_253, cached_creation_tokens: 20 },
      },
      { ...noUsage, inputTokens: 31, cachedInputTokens: 1_253, cacheWriteTokens: 20, outputTokens: 467 },
    ],
    [
      'counts cache tokens under unknown names as reads, not as output',
      { prompt_tokens: 31, completion_tokens: 20, total_tokens: 1_304, cacheReadInputTokens: 1_253 },
      {
        ...noUsage,
        inputTokens: 31,
        cachedInputTokens: 1_253,
        outputTokens: 20,
        unexplained: ['usage.cacheReadInputTokens'],
      },
    ],
    [
      'adds these to a prompt that is too small to include them',
      {
        prompt_tokens: 31,
        completion_tokens: 20,
        total_tokens: 51,
        prompt_tokens_details: { cache_hit_tokens: 1_253 },
      },
      {
        ...noUsage,
        inputTokens: 31,
        cachedInputTokens: 1_253,
        outputTokens: 20,
        unexplained: ['usage.prompt_tokens_details.cache_hit_tokens'],
      },
    ],
    [
      'does not count other members with "cache" in their name as cache tokens',
      { ...totals, prompt_tokens_details: { cached_tokens: 30, cached_tokens_again: 30 }, cache_age: 3_600 },
      {
        ...noUsage,
        inputTokens: 70,
        cachedInputTokens: 30,
        outputTokens: 20,
        unexplained: ['usage.prompt_tokens_details.cached_tokens_again', 'usage.cache_age'],
      },
    ],
    [
      'reads reasoning next to the totals, which include it (SGLang)',
      { ...totals, reasoning_tokens: 8 },
      { ...noUsage, inputTokens: 100, outputTokens: 20, reasoningTokens: 8 },
    ],
    [
      'distinguishes reasoning from an equal number of cache tokens (xAI)',
      {
        prompt_tokens: 1_000,
        completion_tokens: 300,
        total_tokens: 1_500,
        prompt_tokens_details: { cached_tokens: 200 },
        completion_tokens_details: { reasoning_tokens: 200 },
      },
      { ...noUsage, inputTokens: 800, cachedInputTokens: 200, outputTokens: 500, reasoningTokens: 200 },
    ],
    [
      'adds both reasoning and cache if their sum is the excess of the total',
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 1_160,
        prompt_tokens_details: { cached_tokens: 1_000 },
        completion_tokens_details: { reasoning_tokens: 50 },
      },
      { ...noUsage, inputTokens: 100, cachedInputTokens: 1_000, outputTokens: 60, reasoningTokens: 50 },
    ],
    [
      'reads totals under the names of the responses protocol (mlx-vlm)',
      {
        input_tokens: 100,
        output_tokens: 20,
        total_tokens: 120,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens_details: { reasoning_tokens: 8 },
      },
      { ...noUsage, inputTokens: 70, cachedInputTokens: 30, outputTokens: 20, reasoningTokens: 8 },
    ],
    [
      'uses the greater figure if a relay reports both names',
      { ...totals, input_tokens: 0, output_tokens: 0, input_tokens_details: null },
      counted,
    ],
    [
      'records cache counts with unknown names, but no derived figures',
      {
        ...totals,
        prompt_cache_miss_tokens: 70,
        cacheWriteInputTokens: 5,
        cache_discount: -0.5,
        prompt_tokens_details: {
          cached_tokens: 30,
          cached_tokens_details: { text_tokens: 30 },
          cache_type: 'ephemeral',
          cache_creation: { ephemeral_1d_input_tokens: 9 },
          cache_refresh_tokens: '4',
        },
      },
      {
        ...noUsage,
        inputTokens: 70,
        cachedInputTokens: 30,
        outputTokens: 20,
        unexplained: [
          'usage.cacheWriteInputTokens',
          'usage.prompt_tokens_details.cache_creation.ephemeral_1d_input_tokens',
          'usage.prompt_tokens_details.cache_refresh_tokens',
        ],
      },
    ],
  ];
  for (const [what, usage, facts] of cases) {
    it(what, () => {
      assert.deepEqual(readChatUsage(usage), facts);
    });
  }

  it('is unusable without two valid totals', () => {
    for (const [total, wrong] of [
      ['prompt_tokens', undefined],
      ['completion_tokens', undefined],
      ['completion_tokens', null],
      ['prompt_tokens', -1],
      ['completion_tokens', 1.5],
      ['completion_tokens', 'many'],
      ['prompt_tokens', TOKEN_COUNT_MAX + 1],
    ] as const) {
      assert.equal(readChatUsage({ ...totals, [total]: wrong }), null, `${total}: ${wrong}`);
    }
    for (const usage of [null, [100, 20]]) assert.equal(readChatUsage(usage), null);
  });

  it('never counts a token twice, whatever the details', () => {
    const anything = fc.oneof(
      fc.nat({ max: 300 }),
      fc.integer(),
      fc.double(),
      fc.constantFrom(null, undefined, '7', {}, []),
    );
    const usage = fc.record(
      {
        prompt_tokens: fc.nat({ max: 200 }),
        completion_tokens: fc.nat({ max: 200 }),
        prompt_tokens_details: fc.record({ cached_tokens: anything, cache_write_tokens: anything }),
        completion_tokens_details: fc.record({ reasoning_tokens: anything }),
        prompt_cache_hit_tokens: anything,
        cached_tokens: anything,
      },
      { requiredKeys: ['prompt_tokens', 'completion_tokens'] },
    );
    fc.assert(
      fc.property(usage, (reported) => {
        const facts = readChatUsage(reported)!;
        const cached = facts.cachedInputTokens + facts.cacheWriteTokens;
        // A prompt that is too small for its cache excludes the cache completely.
        const isOutside = cached > reported.prompt_tokens;
        assert.equal(facts.inputTokens + (isOutside ? 0 : cached), reported.prompt_tokens);
        assert.equal(facts.outputTokens, reported.completion_tokens);
        assert.ok(facts.reasoningTokens <= facts.outputTokens);
        const { images, parts: _parts, servedOn: _terms, unexplained: _places, ...counts } = facts;
        assert.deepEqual(images, []);
        assert.ok(Object.values(counts).every((count) => Number.isInteger(count) && count >= 0));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('counts one search if the request asks for one and the provider reports none', () => {
    const asked = (usage: object) => readChatUsage({ ...totals, ...usage }, { asksForSearch: true })?.webSearches;
    assert.deepEqual([asked({}), asked({ num_search_queries: 3 }), asked({ server_tool_use: {} })], [1, 3, 0]);
  });

  it('has the tier of the response if it is a valid name', () => {
    const served = (serviceTier: unknown) => readChatUsage(totals, { serviceTier })?.servedOn;
    assert.deepEqual([served('flex'), served('default')], [{ serviceTier: 'flex' }, { serviceTier: 'default' }]);
    for (const tier of [null, undefined, '', 7, 'x'.repeat(65), 'a\u0000b']) assert.equal(served(tier), undefined);
  });
});
