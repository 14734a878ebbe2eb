import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { event, json, type Respond, sse } from '../support/provider.ts';
import { bodies, CHAT, chargeOf, MESSAGES, RESPONSES } from './charged.ts';

/** Prices that depend on what a run did, and usage of providers that differs from the protocol's definition. */

const MODELS = `
  priced:
    maxOutputTokens: "1000"
    operations: [chat, responses, messages]
    price:
      input: "3"
      cachedInput: "1"
      output: "13"
      citations: "2"
      reasoning: "5"
      thinking: { input: "3", cachedInput: "1", output: "40", citations: "2", reasoning: "5" }
      above:
        "1000":
          { input: "6", cachedInput: "2", output: "26", citations: "2", reasoning: "5",
            outputAbove: { "200": { input: "7", cachedInput: "3", output: "50", citations: "2", reasoning: "5" } } }
    routes: [{ provider: chatty, model: upstream-chat }, { provider: messy, model: upstream-messages }]
`;

const PATHS = Object.keys(bodies);

const data = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;

/** A provider that reports this usage, in a non-streaming response or in a stream. */
function reporting(path: string, usage: object, isStream: boolean): Respond {
  if (!isStream) {
    const around = path === CHAT ? { choices: [] } : path === RESPONSES ? { object: 'response', output: [] } : {};
    return json(200, { id: 'r', ...around, usage });
  }
  if (path === CHAT) {
    const choices = [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }];
    return sse([data({ choices }), data({ choices: [], usage }), 'data: [DONE]\n\n']);
  }
  if (path === RESPONSES) {
    const delta = event('response.output_text.delta', { delta: 'x' });
    return sse([delta, event('response.completed', { response: { id: 'r', output: [], usage } })]);
  }
  return sse([
    event('message_start', { message: { usage } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x' } }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
    event('message_stop'),
  ]);
}

describe('prices that depend on what a run did', { timeout: 60_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway({ models: MODELS, providerFields: 'cacheTokens: excluded' });
    account = await g.createAccount();
  });
  after(() => g?.stop());

  async function send(path: string, usage: object, isStream: boolean) {
    g.provider.respond = reporting(path, usage, isStream);
    return call(g.url + path, account.key, { model: 'priced', stream: isStream, ...bodies[path] });
  }

  const charged = (path: string, usage: object, isStream = false) =>
    chargeOf(account, () => send(path, usage, isStream));

  const names = (path: string) =>
    path === CHAT ? ['prompt_tokens', 'completion_tokens'] : ['input_tokens', 'output_tokens'];
  const usageOf = (path: string, input: unknown, output: unknown, more: object = {}) => ({
    [names(path)[0]!]: input,
    [names(path)[1]!]: output,
    ...more,
  });
  const reasoned = (path: string, tokens: number) =>
    path === MESSAGES
      ? { output_tokens_details: { thinking_tokens: tokens } }
      : { [path === CHAT ? 'completion_tokens_details' : 'output_tokens_details']: { reasoning_tokens: tokens } };

  for (const path of PATHS) {
    for (const isStream of [false, true]) {
      const where = `${path}${isStream ? ', streamed' : ''}`;

      it(`are those of reasoning if the provider reports some: ${where}`, async () => {
        const plain = await charged(path, usageOf(path, 100, 10, reasoned(path, 0)), isStream);
        assert.deepEqual([plain.nano, plain.record.pricedBy], [430_000n, null]);
        const thinking = await charged(path, usageOf(path, 100, 10, reasoned(path, 4)), isStream);
        assert.deepEqual([thinking.nano, thinking.record.pricedBy], [700_000n, { thinking: true }]);
      });

      it(`are those of a longer output within the step of the input: ${where}`, async () => {
        const { nano, record } = await charged(path, usageOf(path, 1_001, 201, reasoned(path, 4)), isStream);
        assert.deepEqual([nano, record.pricedBy], [17_057_000n, { above: '1000', outputAbove: '200' }]);
      });

      it(`accept counts in strings of digits: ${where}`, async () => {
        assert.equal((await charged(path, usageOf(path, '100', '10'), isStream)).nano, 430_000n);
      });

      it(`accept no other strings as counts: ${where}`, async () => {
        for (const text of ['1e2', '100.0', ' 100', '-1', '']) {
          const result = await send(path, usageOf(path, text, 10), isStream);
          // A stream is estimated, like one without usage; a non-streaming response is refused.
          assert.equal(result.status, isStream ? 200 : 502, `${text}: ${result.text}`);
          if (isStream) assert.equal((await account.lastCall()).usage.source, 'estimated', text);
        }
      });
    }
  }

  for (const path of [CHAT, RESPONSES]) {
    for (const isStream of [false, true]) {
      it(`count the cache outside of the input if the provider is set so: ${path}${isStream ? ', streamed' : ''}`, async () => {
        const details = { [path === CHAT ? 'prompt_tokens_details' : 'input_tokens_details']: { cached_tokens: 300 } };
        const { nano, record } = await charged(path, usageOf(path, 500, 10, details), isStream);
        assert.deepEqual([record.usage.inputTokens, record.usage.cachedInputTokens], [500, 300]);
        assert.equal(nano, 500n * 3_000n + 300n * 1_000n + 10n * 13_000n);
      });
    }
  }

  for (const isStream of [false, true]) {
    it(`apply to citations and reasoning outside of the totals${isStream ? ', streamed' : ''}`, async () => {
      const usage = {
        ...{ prompt_tokens: 33, completion_tokens: 110, total_tokens: 143 },
        ...{ citation_tokens: 190, reasoning_tokens: 1_900, num_search_queries: 2 },
      };
      const { nano, record } = await charged(CHAT, usage, isStream);
      assert.deepEqual([record.usage.citationTokens, record.usage.separateReasoningTokens], [190, 1_900]);
      assert.equal(nano, 33n * 3_000n + 110n * 13_000n + 190n * 2_000n + 1_900n * 5_000n);
      assert.deepEqual(record.unpriced, ['perWebSearch']);
    });
  }
});
