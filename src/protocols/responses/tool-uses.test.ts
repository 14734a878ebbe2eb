import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noUsage } from '../metering/usage-facts.ts';
import { readResponsesUsage } from './usage.ts';

const totals = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
const container = (id: string) => ({ type: 'code_interpreter_call', status: 'completed', container_id: id });

function used(response: Record<string, unknown>, ...context: readonly [named: string[], mayContinue: boolean] | []) {
  const [named = [], mayContinue = false] = context;
  const containerUse = { named, mayContinue, offersTools: false };
  const usage = readResponsesUsage(totals, response, { containerUse })!;
  return Object.fromEntries(
    Object.entries(usage).filter(
      ([name, value]) => typeof value === 'number' && value > 0 && name !== 'inputTokens' && name !== 'outputTokens',
    ),
  );
}

describe('tool uses that a response shows', () => {
  it('include calls of provider tools, by kind', () => {
    const output = [
      { type: 'web_search_call', action: { type: 'search' } },
      { type: 'web_search_call', action: { type: 'open_page' } },
      { type: 'web_search_call', action: { type: 'search' }, status: 'failed' },
      { type: 'web_search_call' },
      { type: 'file_search_call' },
      { type: 'mcp_call' },
      { type: 'image_generation_call' },
      { type: 'function_call' },
      { type: 'shell_call', environment: { type: 'local' } },
      { type: 'shell_call', environment: { type: 'container_reference', container_id: 'c9' } },
      { type: 'message' },
    ];
    assert.deepEqual(used({ output }), {
      webSearches: 2,
      fileSearches: 1,
      codeExecutions: 1,
      containers: 1,
      otherToolUses: 1,
      serverToolUses: 9,
    });
  });

  it('exclude calls that the caller runs, and empty searches', () => {
    const output = [
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'a' } },
      { type: 'future_call', execution: 'client' },
      { type: 'custom_tool_call', name: 'x_ray_search' },
      { type: 'custom_tool_call', name: 'view_x_video' },
      { type: 'web_search_call', action: { type: 'search', query: '', sources: [] } },
    ];
    assert.deepEqual(used({ output }), { serverToolUses: 1 });
    assert.equal(used({ output: [{ type: 'tool_search_call', execution: 'server' }] }).otherToolUses, 1);
    const queries = { type: 'search', query: '', queries: ['a'] };
    assert.equal(used({ output: [{ type: 'web_search_call', action: queries }] }).webSearches, 1);
  });

  it("include result items, and calls under the vendors' names", () => {
    const output = [
      { type: 'search_results', queries: ['a', 'b'], results: [] },
      { type: 'fetch_url_results', contents: [] },
      { type: 'openrouter:web_search', status: 'completed' },
      ...['x_keyword_search', 'x_semantic_search', 'x_user_search', 'x_thread_fetch'].map((name) => ({
        type: 'custom_tool_call',
        name,
      })),
    ];
    assert.deepEqual(used({ output }), { webSearches: 2, webFetches: 1, otherToolUses: 4, serverToolUses: 7 });
  });

  it('include one search for cited pages if no tool is offered or used', () => {
    const annotations = [{ type: 'url_citation', url: 'https://a.example/' }, { type: 'url_citation' }];
    const message = { type: 'message', content: [{ type: 'output_text', text: 'a', annotations }] };
    assert.deepEqual(used({ output: [message] }), { webSearches: 1 });
    assert.equal(used({ output: [message, { type: 'mcp_call' }] }).webSearches, undefined);
    const files = { ...message, content: [{ annotations: [{ type: 'file_citation' }] }] };
    assert.deepEqual(used({ output: [files] }), {});
    const offering = { containerUse: { named: [], mayContinue: false, offersTools: true } };
    assert.equal(readResponsesUsage(totals, { output: [message] }, offering)?.webSearches, 0);
    const counted = { ...totals, tool_calls_details: {} };
    assert.equal(readResponsesUsage(counted, { output: [message] })?.webSearches, 0);
  });

  it("equal Perplexity's counts if there are any", () => {
    const tool_calls_details = {
      search_web: { cost_usd: 0.01, invocation: 2 },
      fetch_url: { invocation: 3 },
      finance_search: 1,
    };
    const output = [{ type: 'search_results' }, { type: 'search_results' }, { type: 'search_results' }];
    const { webSearches, webFetches, otherToolUses } = readResponsesUsage(
      { ...totals, tool_calls_details },
      { output },
    )!;
    assert.deepEqual([webSearches, webFetches, otherToolUses], [2, 3, 1]);
  });

  it('include each container once, unless the request names it', () => {
    const output = [container('c1'), container('c1'), container('c2')];
    assert.deepEqual(used({ output }), { codeExecutions: 3, containers: 2, serverToolUses: 3 });
    assert.equal(used({ output }, ['c1'], false).containers, 1);
    assert.equal(used({ output }, [], true).containers, undefined);
  });

  it('equal the searches that the provider reports as billed, if it does', () => {
    const output = [{ type: 'web_search_call', action: { type: 'search' } }];
    const toolUsage = (requests: unknown) => ({ output, tool_usage: { web_search: { num_requests: requests } } });
    assert.equal(used(toolUsage(0)).webSearches, undefined);
    assert.equal(used(toolUsage(5)).webSearches, 5);
    assert.equal(used(toolUsage('many')).webSearches, 1);
  });

  it("equal xAI's counts if there are any", () => {
    const usage = { ...totals, server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 4 } };
    const { webSearches, otherToolUses } = readResponsesUsage(usage, { output: [{ type: 'web_search_call' }] })!;
    assert.deepEqual([webSearches, otherToolUses], [2, 4]);
  });

  it('imply rounds: by counts, calls of any kind, and results without a call', () => {
    const rounds = (response: object, usage: object = {}) =>
      readResponsesUsage({ ...totals, ...usage }, { ...response })!.serverToolUses;
    const output = [
      'search_results',
      'fetch_url_results',
      'openrouter:web_search',
      'x_search_call',
      'shell_call_output',
    ];
    assert.equal(rounds({ output: output.map((type) => ({ type })) }), 4);
    const custom = { output: [{ type: 'custom_tool_call' }, { type: 'function_call' }, { type: 'reasoning' }] };
    assert.equal(rounds(custom), 0);
    assert.equal(rounds(custom, { server_side_tool_usage_details: { x_search_calls: 7 } }), 7);
    assert.equal(rounds({ tool_usage: { web_search: { num_requests: 3 }, image_gen: { total_tokens: 900 } } }), 3);
  });

  it('include those that xAI counts outside the usage', () => {
    const server_side_tool_usage = {
      SERVER_SIDE_TOOL_WEB_SEARCH: 3,
      SERVER_SIDE_TOOL_X_SEARCH: 2,
      code_execution_calls: 1,
    };
    const { webSearches, otherToolUses, codeExecutions } = used({ server_side_tool_usage });
    assert.deepEqual([webSearches, otherToolUses, codeExecutions], [3, 2, 1]);
    const usage = { ...totals, server_side_tool_usage_details: { web_search_calls: 4 } };
    assert.equal(readResponsesUsage(usage, { server_side_tool_usage })?.webSearches, 4);
    assert.equal(used({ server_side_tool_usage: {}, output: [{ type: 'web_search_call' }] }).webSearches, 1);
  });

  it('include usage of another model for images', () => {
    const image = {
      input_tokens: 30,
      input_tokens_details: { text_tokens: 10, image_tokens: 20 },
      output_tokens: 400,
      total_tokens: 430,
    };
    const { parts } = readResponsesUsage(totals, { tool_usage: { image_gen: image } })!;
    const usage = { ...noUsage, inputTokens: 10, imageInputTokens: 20, imageOutputTokens: 400 };
    assert.deepEqual(parts, [{ model: 'image_generation', isInside: false, usage }]);
    const unused = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    assert.equal(readResponsesUsage(totals, { tool_usage: { image_gen: unused } })!.parts, undefined);
  });

  it('are accompanied by the tier of the response', () => {
    assert.deepEqual(readResponsesUsage(totals, { service_tier: 'priority' })!.servedOn, { serviceTier: 'priority' });
  });
});
