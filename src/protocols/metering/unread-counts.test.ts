import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unreadCounts } from './unread-counts.ts';

const totals = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const places = (more: object) => unreadCounts({ ...totals, ...more }).map((place) => place.slice('usage.'.length));

describe('counts without a unit', () => {
  it('include tokens outside the totals, audio durations, and tool uses in an unknown spelling', () => {
    const cases: readonly (readonly [usage: object, ...expected: string[]])[] = [
      [{ crawled_tokens: 7, document_tokens: '5' }, 'crawled_tokens', 'document_tokens'],
      [{ prompt_audio_seconds: 3.5 }, 'prompt_audio_seconds'],
      [{ num_sources_used: 4, search_count: 1 }, 'num_sources_used', 'search_count'],
      [{ connectors: { web: 2 } }, 'connectors.web'],
      [{ web_search_usage: { count: 2, cost: 1 } }, 'web_search_usage.count'],
      [
        { server_side_tool_usage_details: { x_search_calls: 2, x_posts_fetched: 40 } },
        'server_side_tool_usage_details.x_posts_fetched',
      ],
      [
        { tool_calls_details: { sandbox: { minutes: 2 }, search_web: { invocation: 1, cost_usd: 1 } } },
        'tool_calls_details.sandbox',
      ],
      [{ plugins: { search: { count: 1 }, image: { pictures: 2 } } }, 'plugins.image'],
    ];
    for (const [usage, ...expected] of cases) assert.deepEqual(places(usage), expected, JSON.stringify(usage));
  });

  it('exclude what vendors report about totals, money and time', () => {
    const silent: readonly object[] = [
      { input_tokens: 100, output_tokens: 20, input_tokens_details: { text_tokens: 100 }, cache_read_input_tokens: 9 },
      {
        queue_time: 0.1,
        total_time: 2,
        total_latency: 3,
        completion_tokens_per_sec: 90,
        prompt_tps: 40,
        generation_tps: 9,
      },
      {
        cost: 0.1,
        cost_details: { upstream_inference_cost: 1 },
        is_byok: true,
        cost_in_usd_ticks: 7_000,
        tool_calls_cost: 2,
      },
      {
        num_draft_tokens: 9,
        accepted_tokens: 4,
        text_tokens: 100,
        image_tokens: 3,
        cached_tokens: 5,
        total_characters: 9,
      },
      { server_tool_use: { web_search_requests: 1, tool_calls_requested: 3, tool_calls_executed: 3 } },
      { server_tool_use_details: { web_search_requests: 2 }, num_search_queries: 2, search_context_size: 'low' },
      {
        x_tools: { web_search: { count: 1 } },
        tool_usage: { web_search: 2 },
        tool_usage_details: { web_search: { toutiao: 2 } },
      },
      { num_server_side_tools_used: 6, tool_calls_details: {}, num_sources_used: 0 },
      { citation_tokens: 7, reasoning_tokens: 90, completion_tokens_details: { reasoning_tokens: 15 } },
      { usage_source: 'openai', search_context_size: 'high', source_tokens: null, web_search: { search_time_ms: 90 } },
    ];
    for (const usage of silent) assert.deepEqual(places(usage), [], JSON.stringify(usage));
  });

  it('are limited in number, and recorded only if their names are plain text', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`kind_${i}_tokens`, 1]));
    assert.equal(places(many).length, 4);
    assert.deepEqual(places({ 'a\u0000_tokens': 1, [`${'x'.repeat(99)}_tokens`]: 1 }), []);
  });
});
