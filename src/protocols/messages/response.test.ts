import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { messagesResponse } from './response.ts';

const responseOf = (members: object) => captureResponse(messagesResponse(), JSON.stringify(members));
const usageOf = (usage: unknown) => messagesResponse().usage(responseOf({ usage }), 'tokens');

describe('messages response', () => {
  it('keeps its usage, and blocks only if a provider tool produced one', () => {
    assert.deepEqual([messagesResponse().keep, messagesResponse().count], [['usage', 'container'], []]);
    const text = { type: 'text', text: 'a "tool_use_id" in a text' };
    for (const [content, isMarked] of [
      [[text, { type: 'tool_use', id: 'a', name: 'search', input: { server_name: 1 } }], false],
      [[text, { type: 'web_search_tool_result', tool_use_id: 'a', content: [] }], true],
    ] as const) {
      assert.equal(responseOf({ content }).isMarked('content'), isMarked);
    }
  });

  it('is billed by its usage', () => {
    const usage = { input_tokens: 7, output_tokens: 8, cache_read_input_tokens: 4, cache_creation_input_tokens: 2 };
    const expected = { ...noUsage, inputTokens: 7, cachedInputTokens: 4, cacheWriteTokens: 2, outputTokens: 8 };
    assert.deepEqual(usageOf(usage), expected);
  });

  it('counts rounds and searches that only a provider can run, whether or not the request offers tools', () => {
    const usage = { input_tokens: 7, output_tokens: 8 };
    const content = [
      { type: 'server_tool_use', id: 'a', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 'a', content: [] },
      { type: 'mcp_tool_use', id: 'b', name: 'web_search' },
      { type: 'tool_use', id: 'c', name: '$web_search' },
      { type: 'text', text: 'a "_tool_result" in a text' },
    ];
    const shown = messagesResponse().usage(responseOf({ usage, content }), 'tokens');
    assert.deepEqual(shown, { ...noUsage, inputTokens: 7, outputTokens: 8, webSearches: 1, serverToolUses: 2 });
  });

  it('fails closed without totals', () => {
    for (const usage of [undefined, null, 'x', {}, { input_tokens: 11 }, { output_tokens: 7 }]) {
      assert.equal(usageOf(usage), null);
    }
  });

  it('cannot be referred to by later calls', () => {
    assert.deepEqual(messagesResponse().continuationKeys(responseOf({ id: 'msg_1' })), []);
  });
});
