import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readChatUsage } from '../chat/usage.ts';
import { readResponsesUsage } from '../responses/usage.ts';
import { inputWithCache } from './input-with-cache.ts';

/** Input at the full price, cache reads, cache writes, output. */
function countsOf(usage: ReturnType<typeof readChatUsage>) {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage!;
  return [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens];
}

describe('usage whose input excludes the cache', () => {
  it('includes the cache in its input, even if both interpretations are possible', () => {
    const chat = { prompt_tokens: 3_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 1_000 } };
    assert.deepEqual(countsOf(readChatUsage(chat)), [2_000, 1_000, 0, 10]);
    assert.deepEqual(countsOf(readChatUsage(inputWithCache(chat))), [3_000, 1_000, 0, 10]);
    const responses = { input_tokens: 3_000, output_tokens: 10, input_tokens_details: { cached_tokens: 1_000 } };
    assert.deepEqual(countsOf(readResponsesUsage(inputWithCache(responses))), [3_000, 1_000, 0, 10]);
  });

  it("includes both in its total, whether or not the provider's total does", () => {
    for (const total_tokens of [3_010, 4_210]) {
      const usage = {
        ...{ prompt_tokens: 3_000, completion_tokens: 10, total_tokens },
        ...{ cache_read_input_tokens: 1_000, cache_creation_input_tokens: 200 },
      };
      assert.deepEqual(countsOf(readChatUsage(inputWithCache(usage))), [3_000, 1_000, 200, 10]);
    }
  });

  it('is unchanged without an input or a cache, or if it is not usage', () => {
    for (const usage of [null, 'x', [], {}, { prompt_tokens: -1 }]) assert.equal(inputWithCache(usage), usage);
    const plain = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    assert.deepEqual(inputWithCache(plain), plain);
  });
});
