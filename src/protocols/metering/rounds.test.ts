import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { roundsOutsideUsage, roundsShown, usesShown } from './rounds.ts';

describe('the rounds that a report shows', () => {
  const shown: readonly [usage: object, rounds: number][] = [
    [{}, 0],
    [{ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }, 0],
    // OpenRouter, Anthropic; xAI; DashScope; Volcengine Ark; Perplexity; Mistral.
    [{ server_tool_use: { web_search_requests: 2, code_execution_requests: 3 } }, 5],
    [{ server_side_tool_usage_details: { web_search_calls: 2, mcp_calls: 4 }, num_server_side_tools_used: 6 }, 6],
    [{ num_server_side_tools_used: 3, num_sources_used: 40 }, 3],
    [{ x_tools: { web_search: { count: 2 }, web_extractor: { count: 5 } } }, 7],
    [{ plugins: { search: { count: 1, strategy: 'turbo' } } }, 1],
    [{ tool_usage: { web_search: 2, mcp: '3' }, tool_usage_details: { web_search: { engine: 2 } } }, 5],
    [{ num_search_queries: 18, citation_tokens: 20_000, search_context_size: 'low' }, 18],
    [{ tool_calls_details: { search_web: { invocation: 3 }, fetch_url: { invocation: 1 } } }, 4],
    [{ connectors: { web_search: 2 }, connector_tokens: 900 }, 2],
    // Lists and numbers of runs, of which the first is not an extra round.
    [{ iterations: [{ input_tokens: 9 }, { input_tokens: 8 }, { input_tokens: 7 }] }, 2],
    [{ num_turns: 4 }, 3],
    // Tokens, money and times are not uses.
    [{ tool_use_prompt_tokens: 700, toolUsePromptTokenCount: 700, search_cost: 5, search_units: 2 }, 0],
    [{ cost: { tool_calls_cost: 3 }, tool_usage: { image_gen: { input_tokens: 50, total_tokens: 90 } } }, 0],
    // Not counts.
    [{ tools: 'many', tool_usage: -1, plugins: null, x_tools: [1, 'a'] }, 0],
  ];
  for (const [usage, rounds] of shown) {
    it(`number ${rounds} in ${JSON.stringify(usage)}`, () => {
      assert.equal(roundsShown({ ...usage }), rounds);
    });
  }

  it('include only uses if runs are counted separately', () => {
    assert.equal(usesShown({ iterations: [{}, {}, {}], server_tool_use: { web_search_requests: 1 } }), 1);
  });

  it('may be outside the usage', () => {
    const response: Record<string, unknown> = { usage_breakdown: { models: [{ model: 'a' }, { model: 'b' }] } };
    assert.equal(
      roundsOutsideUsage((name) => response[name]),
      2,
    );
    assert.equal(
      roundsOutsideUsage(() => undefined),
      0,
    );
  });
});
