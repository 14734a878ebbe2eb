import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { chatResponse } from './response.ts';

const responseOf = (members: object) => captureResponse(chatResponse(), JSON.stringify(members));
const usageOf = (usage: unknown) => chatResponse().usage(responseOf({ usage }), 'tokens');

describe('chat response', () => {
  it('keeps usage, tier, search results and round counts, and nothing else', () => {
    const found = ['web_search', 'search_info', 'search_results', 'citations', 'references'];
    const rounds = ['usage_breakdown', 'server_side_tool_usage'];
    assert.deepEqual([chatResponse().keep, chatResponse().count], [['usage', 'service_tier', ...found, ...rounds], []]);
    assert.equal(chatResponse().keepMarked?.name, 'choices');
    assert.ok(chatResponse({ offersTools: true }).keep.includes('choices'));
  });

  it('is billed by its usage', () => {
    const usage = { prompt_tokens: 11, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 4 } };
    assert.deepEqual(usageOf(usage), { ...noUsage, inputTokens: 7, cachedInputTokens: 4, outputTokens: 7 });
  });

  it('reports the tier that was applied', () => {
    const response = responseOf({ usage: { prompt_tokens: 1, completion_tokens: 2 }, service_tier: 'flex' });
    assert.deepEqual(chatResponse().usage(response, 'tokens')?.servedOn, { serviceTier: 'flex' });
  });

  it('counts rounds outside usage, and output up to the limit of the request', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 5_015 };
    const rounds = { server_side_tool_usage: { SERVER_SIDE_TOOL_WEB_SEARCH: 3 }, usage };
    assert.equal(chatResponse().usage(responseOf(rounds), 'tokens')?.serverToolUses, 3);
    const limited = chatResponse({ outputTokensMax: 4_000 });
    const { outputTokens, unexplained } = limited.usage(responseOf({ usage }), 'tokens')!;
    assert.deepEqual([outputTokens, unexplained], [5, ['usage.total_tokens']]);
    // Each round may produce the maximum output.
    assert.equal(limited.usage(responseOf(rounds), 'tokens')?.outputTokens, 5_005);
  });

  it('parses choices only if they contain a tool marker', () => {
    const parsed = (message: object, offersTools = false): boolean => {
      const members = { usage: { prompt_tokens: 1, completion_tokens: 2 }, choices: [{ message }] };
      const response = captureResponse(chatResponse({ offersTools }), JSON.stringify(members));
      const names: string[] = [];
      chatResponse({ offersTools }).usage(
        {
          member: (name) => {
            names.push(name);
            return response.member(name);
          },
          isMarked: (name) => response.isMarked(name),
          count: () => null,
          holding: () => 0,
        },
        'tokens',
      );
      return names.includes('choices');
    };
    const calls = { tool_calls: [{ function: { name: 'f', arguments: '{}' } }] };
    assert.equal(parsed({ content: 'about "url_citation" and "tool_calls"', annotations: [] }), false);
    assert.deepEqual([parsed(calls), parsed(calls, true)], [false, true]);
    assert.equal(parsed({ annotations: [{ type: 'url_citation' }] }), true);
    assert.deepEqual([parsed({ executed_tools: [] }), parsed({ executed_tools: [{}] })], [false, true]);
  });

  it('counts searches and executed tools, even if the request offers no tool', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 };
    const cited = { annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example/' } }] };
    const ran = {
      executed_tools: [
        { index: 0, type: 'search' },
        { index: 1, type: 'python' },
        { index: 2, type: 'search' },
      ],
    };
    const used = [cited, ran].map((message) => {
      const facts = chatResponse().usage(responseOf({ choices: [{ index: 0, message }], usage }), 'tokens')!;
      return [facts.webSearches, facts.codeExecutions, facts.serverToolUses];
    });
    assert.deepEqual(used, [
      [1, 0, 1],
      [2, 1, 3],
    ]);
    const call = { tool_calls: [{ type: 'builtin_function', function: { name: '$web_search' } }] };
    const called = JSON.stringify({ choices: [{ index: 0, message: call }], usage });
    for (const offersTools of [true, false]) {
      const reading = chatResponse({ offersTools });
      assert.equal(reading.usage(captureResponse(reading, called), 'tokens')?.webSearches, offersTools ? 1 : 0);
    }
  });

  it('fails closed without totals', () => {
    for (const usage of [undefined, null, 'x', {}, { prompt_tokens: 11 }, { completion_tokens: 7 }]) {
      assert.equal(usageOf(usage), null);
    }
  });

  it('cannot be referred to by later calls', () => {
    assert.deepEqual(chatResponse().continuationKeys(responseOf({ id: 'chatcmpl-1' })), []);
  });
});
