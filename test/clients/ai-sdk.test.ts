import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, sse } from '../support/provider.ts';
import { responseObject, responsesStream } from '../support/responses.ts';

/**
 * The Vercel AI SDK sends items of earlier responses as references to state at the provider. References to the account's own state pass;
 * with the key of another account they are refused.
 */
const OUTPUT = [
  { type: 'reasoning', id: 'rs_sdk', summary: [] },
  {
    type: 'message',
    id: 'msg_sdk',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hello there', annotations: [], logprobs: [] }],
  },
];

describe(`the Vercel AI SDK`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
    gateway.provider.respond = (request, response) => {
      const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
      const parts = { id: 'resp_sdk', output: OUTPUT };
      const received = stream
        ? sse(responsesStream({ items: OUTPUT.slice(0, 1), response: parts }))
        : json(200, responseObject(parts));
      received(request, response);
    };
  });
  after(() => gateway.stop());

  const modelFor = (apiKey: string) =>
    createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey }).responses('test-responses');
  const lastInput = () =>
    JSON.parse(gateway.provider.requests.at(-1)!.body.toString()).input as readonly { type?: string; id?: string }[];

  for (const isStream of [false, true]) {
    test(`continues a conversation with item references, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const [account, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
      const ask = async (key: string, messages: ModelMessage[]) => {
        const options = { model: modelFor(key), messages, maxRetries: 0 };
        if (!isStream) return generateText(options);
        const result = streamText({ ...options, onError: () => undefined });
        await result.consumeStream();
        return { text: await result.text, response: await result.response };
      };
      const first: ModelMessage[] = [{ role: 'user', content: 'Hello' }];
      const received = await ask(account.key, first);
      assert.equal(received.text, 'Hello there');
      const second: ModelMessage[] = [...first, ...received.response.messages, { role: 'user', content: 'Go on' }];
      assert.equal((await ask(account.key, second)).text, 'Hello there');
      assert.ok(
        lastInput().some(({ type }) => type === 'item_reference'),
        JSON.stringify(lastInput()),
      );
      const asked = gateway.provider.requests.length;
      await assert.rejects(ask(stranger.key, second));
      assert.equal(gateway.provider.requests.length, asked);
    });
  }
});
