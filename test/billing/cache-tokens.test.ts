import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { event, json, type Respond, sse } from '../support/provider.ts';
import { bodies, CHAT, chargeOf, RESPONSES } from './charged.ts';

/** The setting `cacheTokens: excluded` of a provider. */

const MODELS = `
  priced:
    maxOutputTokens: "1000"
    operations: [chat, responses]
    price: { input: "3", cachedInput: "1", output: "13" }
    routes: [{ provider: chatty, model: upstream-chat }]
`;

const data = (chunk: object): string => `data: ${JSON.stringify(chunk)}\n\n`;

/** A provider that reports this usage, in a non-streaming response or in a stream. */
function reporting(path: string, usage: object, isStream: boolean): Respond {
  if (!isStream) {
    const around = path === CHAT ? { choices: [] } : { object: 'response', output: [] };
    return json(200, { id: 'r', ...around, usage });
  }
  if (path === CHAT) {
    const choices = [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }];
    return sse([data({ choices }), data({ choices: [], usage }), 'data: [DONE]\n\n']);
  }
  const delta = event('response.output_text.delta', { delta: 'x' });
  return sse([delta, event('response.completed', { response: { id: 'r', output: [], usage } })]);
}

describe('the usage of a provider that is set to exclude the cache from the input', { timeout: 60_000 }, () => {
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway({ models: MODELS, providerFields: 'cacheTokens: excluded' });
    account = await g.createAccount();
  });
  after(() => g?.stop());

  for (const path of [CHAT, RESPONSES]) {
    const [input, output] = path === CHAT ? ['prompt_tokens', 'completion_tokens'] : ['input_tokens', 'output_tokens'];
    const usage = { [input!]: 500, [output!]: 10, [`${input}_details`]: { cached_tokens: 300 } };

    for (const isStream of [false, true]) {
      it(`has the cache outside of the input: ${path}${isStream ? ', streamed' : ''}`, async () => {
        g.provider.respond = reporting(path, usage, isStream);
        const body = { model: 'priced', stream: isStream, ...bodies[path] };
        const { nano, record } = await chargeOf(account, () => call(g.url + path, account.key, body));
        assert.deepEqual([record.usage.inputTokens, record.usage.cachedInputTokens], [500, 300]);
        assert.equal(nano, 500n * 3_000n + 300n * 1_000n + 10n * 13_000n);
      });
    }
  }
});
