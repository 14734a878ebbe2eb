import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { estimatedInput } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json, message } from '../support/provider.ts';

/** Providers that report no usage: what the client gets, and what the account pays. */

const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
const chat = { model: 'test-chat', max_tokens: 50, messages };
const response = { id: 'resp_1', object: 'response', created_at: 1_790_000_000, status: 'completed' };

/** A response without usage, and the output that its text is estimated at. */
interface Unreported {
  readonly path: string;
  readonly body: object;
  readonly response: object;
  readonly tokens: { readonly input: number; readonly output: number };
}

const cases: Record<string, Unreported> = {
  'a chat completion': {
    path: '/v1/chat/completions',
    body: chat,
    response: chatCompletion(null, 'Hello there'),
    tokens: { input: estimatedInput('chat', chat), output: 3 },
  },
  'a chat completion with reasoning and a call of a tool': {
    path: '/v1/chat/completions',
    body: chat,
    response: {
      ...chatCompletion(null),
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            reasoning: 'I look it up.',
            reasoning_content: 'I look it up.',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"city":"Rome"}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    },
    tokens: { input: estimatedInput('chat', chat), output: 7 },
  },
  'a message': {
    path: '/v1/messages',
    body: { ...chat, model: 'test-messages' },
    response: {
      ...message(null),
      content: [
        { type: 'thinking', thinking: 'I look it up.' },
        { type: 'text', text: 'Hello there' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Rome' } },
      ],
    },
    tokens: { input: estimatedInput('messages', { ...chat, model: 'test-messages' }), output: 10 },
  },
  'a response': {
    path: '/v1/responses',
    body: { model: 'test-responses', input: 'What is the weather in Rome?' },
    response: {
      ...response,
      output: [
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Hello there' }] },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"city":"Rome"}' },
      ],
    },
    tokens: {
      input: estimatedInput('responses', { model: 'test-responses', input: 'What is the weather in Rome?' }),
      output: 7,
    },
  },
};

/** What no provider setting accepts without usage. */
const neverEstimated: Record<string, Omit<Unreported, 'tokens'>> = {
  'a compaction': {
    path: '/v1/responses/compact',
    body: { model: 'test-responses', input: 'Hello' },
    response: {
      id: 'resp_2',
      object: 'response.compaction',
      created_at: 1_790_000_000,
      output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }],
    },
  },
  'images at a price of tokens': {
    path: '/v1/images/generations',
    body: { model: 'test-images', prompt: 'A gate' },
    response: { created: 1_790_000_000, data: [{ b64_json: 'aGVsbG8=' }] },
  },
  'an error in a 200': { path: '/v1/chat/completions', body: chat, response: { error: { message: 'No.' } } },
  'a chat completion without choices': {
    path: '/v1/chat/completions',
    body: chat,
    response: { ...chatCompletion(null), choices: [] },
  },
  'a response that failed': {
    path: '/v1/responses',
    body: { model: 'test-responses', input: 'Hello' },
    response: { ...response, status: 'failed', output: [] },
  },
  'embeddings without data': {
    path: '/v1/embeddings',
    body: { model: 'test-embeddings', input: 'Hello' },
    response: { object: 'list' },
  },
};

async function assertWithheld(account: TestAccount, received: ClientResponse): Promise<void> {
  assert.equal(received.status, 502, received.text);
  assert.equal(received.headers['x-error-code'], 'upstream_error');
  assert.equal(received.headers['x-should-retry'], 'false');
  assert.match(received.json.error.message, /response without usage, so it cannot be billed\. Nothing is charged\.$/);
  await assertSpent(account, 0n);
}

describe('a provider that never reports usage', () => {
  let gateway: TestGateway;
  let refusing: TestGateway;
  before(async () => {
    [gateway, refusing] = await Promise.all([
      startGateway({ providerFields: 'missingUsage: estimate' }),
      startGateway(),
    ]);
  });
  after(async () => {
    await gateway.stop();
    await refusing.stop();
  });

  async function send(to: TestGateway, { path, body, response: received }: Omit<Unreported, 'tokens'>) {
    const account = await to.createAccount();
    to.provider.respond = json(200, received);
    return { account, responded: await call(to.url + path, account.key, body) };
  }

  for (const [what, sent] of Object.entries(cases)) {
    test(`${what} is refused by default, with a 502 that reports missing usage`, async () => {
      const { account, responded } = await send(refusing, sent);
      await assertWithheld(account, responded);
    });

    test(`${what} is charged on an estimate that is marked as one, if the provider is set so`, async () => {
      const { account, responded } = await send(gateway, sent);
      assert.deepEqual([responded.status, responded.json], [200, sent.response]);
      await assertSpent(account, costNano(sent.tokens));
      const { status, usage } = await account.lastCall();
      assert.deepEqual(
        [status, usage.source, usage.inputTokens, usage.outputTokens],
        ['succeeded', 'estimated', sent.tokens.input, sent.tokens.output],
      );
    });
  }

  for (const [what, sent] of Object.entries(neverEstimated)) {
    test(`${what} is refused, whatever the provider is set to`, async () => {
      const { account, responded } = await send(gateway, sent);
      await assertWithheld(account, responded);
    });
  }

  test('embeddings and a rerank by tokens are charged by the size of their input', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }];
    const embedded = await send(gateway, {
      path: '/v1/embeddings',
      body: { model: 'test-embeddings', input: 'Hello '.repeat(100) },
      response: { object: 'list', data },
    });
    const ranked = await send(gateway, {
      path: '/v1/rerank',
      body: { model: 'test-rerank', query: 'Hello', documents: ['Hi '.repeat(100)] },
      response: { results: [{ index: 0, relevance_score: 0.5 }] },
    });
    for (const { account, responded } of [embedded, ranked]) {
      assert.equal(responded.status, 200, responded.text);
      const { usage } = await account.lastCall();
      assert.deepEqual([usage.source, usage.outputTokens], ['estimated', 0]);
      assert.ok(usage.inputTokens >= 75 && usage.inputTokens <= 250, `${usage.inputTokens}`);
      await assertSpent(account, costNano({ input: usage.inputTokens }));
    }
  });

  test('a rerank by search units is charged a unit for a hundred documents', async () => {
    const { account, responded } = await send(gateway, {
      path: '/v1/rerank',
      body: { model: 'test-rerank-units', query: 'Hello', documents: Array.from({ length: 101 }, () => 'Hi') },
      response: { results: [{ index: 0, relevance_score: 0.5 }] },
    });
    assert.equal(responded.status, 200, responded.text);
    await assertSpent(account, 38_000n);
  });

  test('an estimate is never more than what was reserved', async () => {
    const { account, responded } = await send(gateway, {
      path: '/v1/chat/completions',
      body: chat,
      response: chatCompletion(null, 'x'.repeat(100_000)),
    });
    assert.equal(responded.status, 200);
    const { usage } = await account.lastCall();
    assert.equal(usage.source, 'estimated');
    assert.ok(usage.outputTokens <= 60, `${usage.outputTokens}`);
  });

  test('usage that it reports nevertheless counts', async () => {
    const { account } = await send(gateway, {
      path: '/v1/chat/completions',
      body: chat,
      response: chatCompletion({ prompt_tokens: 5, completion_tokens: 2 }),
    });
    await assertSpent(account, costNano({ input: 5, output: 2 }));
    assert.equal((await account.lastCall()).usage.source, 'observed');
  });
});
