import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../support/client.ts';
import { estimatedInput } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, event, json, message, type Respond, sse } from '../support/provider.ts';

/** Usage that cannot be true of what was delivered: what the client gets, and what the account pays. */

const TEXT = 'four'.repeat(80);
const TOKENS = 80;
const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
const responses = { model: 'test-responses', input: 'What is the weather in Rome?' };

interface Protocol {
  readonly path: string;
  readonly body: object;
  readonly input: number;
  /** A response with this text and usage. */
  whole(text: string, used: readonly [input: number, output: number]): object;
  /** The events of such a response, without their end. */
  events(text: string, used: readonly [input: number, output: number]): string[];
}

const chunk = (members: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...members })}\n\n`;
const chatUsage = ([input, output]: readonly [number, number]) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
});
const usageOf = ([input, output]: readonly [number, number]) => ({ input_tokens: input, output_tokens: output });
const say = (content: string): string => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const FINISH = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const DONE = 'data: [DONE]\n\n';

const chat = { model: 'test-chat', max_tokens: 100, messages };
const ofMessages = { ...chat, model: 'test-messages' };
const protocols: Record<string, Protocol> = {
  chat: {
    path: '/v1/chat/completions',
    body: chat,
    input: estimatedInput('chat', chat),
    whole: (text, used) => chatCompletion(chatUsage(used), text),
    events: (text, used) => [say(text), FINISH, chunk({ choices: [], usage: chatUsage(used) }), DONE],
  },
  messages: {
    path: '/v1/messages',
    body: ofMessages,
    input: estimatedInput('messages', ofMessages),
    whole: (text, used) => message(usageOf(used), text),
    events: (text, used) => [
      event('message_start', { message: { ...message(null), content: [], usage: usageOf([used[0], 0]) } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: usageOf(used) }),
      event('message_stop'),
    ],
  },
  responses: {
    path: '/v1/responses',
    body: responses,
    input: estimatedInput('responses', responses),
    whole: (text, used) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text }] }],
      usage: { ...usageOf(used), total_tokens: used[0] + used[1] },
    }),
    events: (text, used) => [
      event('response.created', { response: { id: 'resp_1', status: 'in_progress', usage: null } }),
      event('response.output_text.delta', { delta: text }),
      event('response.completed', {
        response: { id: 'resp_1', status: 'completed', output: [], usage: { ...usageOf(used), total_tokens: 0 } },
      }),
    ],
  },
};

describe(`usage that cannot be true`, () => {
  let estimating: TestGateway;
  let refusing: TestGateway;
  before(async () => {
    [estimating, refusing] = await Promise.all([
      startGateway({ providerFields: 'missingUsage: estimate' }),
      startGateway(),
    ]);
  });
  after(async () => {
    await estimating.stop();
    await refusing.stop();
  });

  async function send(to: TestGateway, path: string, body: object, respond: Respond) {
    const account = await to.createAccount();
    to.provider.respond = respond;
    return { account, responded: await call(to.url + path, account.key, body) };
  }

  async function assertCharged(account: TestAccount, input: number, output: number, doubted: readonly string[] | null) {
    await assertSpent(account, costNano({ input, output }));
    const { status, usage, doubtedUsage } = await account.lastCall();
    const source = doubted === null ? 'observed' : 'estimated';
    assert.deepEqual([status, usage.source, doubtedUsage], ['succeeded', source, doubted ?? []]);
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [input, output]);
  }

  for (const [name, { path, body, input, whole, events }] of Object.entries(protocols)) {
    const stream = { ...body, stream: true };
    const streamInput = name === 'responses' ? estimatedInput('responses', stream) : input;

    test(`zeros for a text are no usage: a non-streaming response of ${name} is refused, or estimated`, async () => {
      const refused = await send(refusing, path, body, json(200, whole(TEXT, [0, 0])));
      assert.equal(refused.responded.status, 502, refused.responded.text);
      assert.match(refused.responded.json.error.message, /usage that cannot be true.*Nothing is charged\.$/);
      await assertSpent(refused.account, 0n);
      const estimated = await send(estimating, path, body, json(200, whole(TEXT, [0, 0])));
      assert.equal(estimated.responded.status, 200);
      await assertCharged(estimated.account, input, TOKENS, ['input', 'output']);
    });

    test(`a zero input alone is estimated, and the output of ${name} charged as reported`, async () => {
      const refused = await send(refusing, path, body, json(200, whole(TEXT, [0, 70])));
      assert.equal(refused.responded.status, 502, refused.responded.text);
      const estimated = await send(estimating, path, body, json(200, whole(TEXT, [0, 70])));
      await assertCharged(estimated.account, input, 70, ['input']);
      const streamed = await send(refusing, path, stream, sse(events(TEXT, [0, 70])));
      await assertCharged(streamed.account, streamInput, 70, ['input']);
    });

    test(`a zero output alone is estimated, and the input of ${name} charged as reported`, async () => {
      const estimated = await send(estimating, path, body, json(200, whole(TEXT, [7, 0])));
      await assertCharged(estimated.account, 7, TOKENS, ['output']);
      const streamed = await send(refusing, path, stream, sse(events(TEXT, [7, 0])));
      await assertCharged(streamed.account, 7, TOKENS, ['output']);
    });

    test(`zeros for a text are no usage: a stream of ${name} is estimated`, async () => {
      const { account, responded } = await send(refusing, path, stream, sse(events(TEXT, [0, 0])));
      assert.equal(responded.status, 200);
      await assertCharged(account, streamInput, TOKENS, ['input', 'output']);
    });

    test(`zeros for an empty response are believed, non-streaming and streamed, of ${name}`, async () => {
      for (const [to, sent, respond] of [
        [refusing, body, json(200, whole('', [0, 0]))],
        [refusing, stream, sse(events('', [0, 0]))],
      ] as const) {
        const { account, responded } = await send(to, path, sent, respond);
        assert.equal(responded.status, 200, responded.text);
        await assertCharged(account, 0, 0, null);
      }
    });

    test(`a terminal event alone is an empty stream of ${name}: 502, and free`, async () => {
      for (const end of name === 'messages' ? [DONE, event('message_stop')] : [DONE]) {
        const { account, responded } = await send(refusing, path, stream, sse([end, say('late')]));
        assert.equal(responded.status, 502, responded.text);
        assert.equal(responded.headers['x-error-code'], 'upstream_error');
        await assertSpent(account, 0n);
      }
    });
  }

  test('usage in the first chunk does not cover the text after it', async () => {
    const first = chunk({ choices: [{ index: 0, delta: { role: 'assistant' } }], usage: chatUsage([12, 1]) });
    const { account } = await send(
      refusing,
      '/v1/chat/completions',
      { ...chat, stream: true },
      sse([first, say(TEXT), FINISH, DONE]),
    );
    await assertCharged(account, 12, TOKENS, ['output']);
  });

  test('usage in the middle covers the text until then', async () => {
    const middle = chunk({
      choices: [{ index: 0, delta: { content: TEXT.slice(0, 160) } }],
      usage: chatUsage([12, 30]),
    });
    const { account } = await send(
      refusing,
      '/v1/chat/completions',
      { ...chat, stream: true },
      sse([middle, say(TEXT.slice(160)), FINISH, DONE]),
    );
    await assertCharged(account, 12, 70, ['output']);
  });

  test('usage that comes with every chunk covers everything', async () => {
    const chunks = [10, 20, 30].map((tokens) =>
      chunk({ choices: [{ index: 0, delta: { content: TEXT } }], usage: chatUsage([12, tokens]) }),
    );
    const { account } = await send(
      refusing,
      '/v1/chat/completions',
      { ...chat, stream: true },
      sse([...chunks, FINISH, DONE]),
    );
    await assertCharged(account, 12, 30, null);
  });

  const results = [{ index: 0, relevance_score: 0.5 }];
  const embedding = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] };
  const others: readonly [what: string, path: string, body: object, response: object, isEmpty: object][] = [
    [
      'embeddings',
      '/v1/embeddings',
      { model: 'test-embeddings', input: 'Hello' },
      { ...embedding, usage: { prompt_tokens: 0, total_tokens: 0 } },
      { object: 'list', data: [], usage: { prompt_tokens: 0, total_tokens: 0 } },
    ],
    [
      'a rerank by tokens',
      '/v1/rerank',
      { model: 'test-rerank', query: 'Hello', documents: ['Hi'] },
      { results, usage: { total_tokens: 0 } },
      { results: [], usage: { total_tokens: 0 } },
    ],
    [
      'a rerank by search units',
      '/v1/rerank',
      { model: 'test-rerank-units', query: 'Hello', documents: ['Hi'] },
      { results, meta: { billed_units: { search_units: 0 } } },
      { results: [], meta: { billed_units: { search_units: 0 } } },
    ],
  ];
  for (const [what, path, body, response, empty] of others) {
    test(`zeros for ${what} are no usage, but zeros for an empty response are`, async () => {
      const refused = await send(refusing, path, body, json(200, response));
      assert.equal(refused.responded.status, 502, refused.responded.text);
      await assertSpent(refused.account, 0n);
      const estimated = await send(estimating, path, body, json(200, response));
      assert.equal(estimated.responded.status, 200);
      const { usage, doubtedUsage } = await estimated.account.lastCall();
      assert.equal(usage.source, 'estimated');
      assert.deepEqual(doubtedUsage, [what.endsWith('units') ? 'searchUnits' : 'input']);
      assert.ok(usage.inputTokens + usage.searchUnits > 0);
      const believed = await send(refusing, path, body, json(200, empty));
      assert.equal(believed.responded.status, 200, believed.responded.text);
      await assertSpent(believed.account, 0n);
    });
  }

  test('zeros for a compaction are no usage, and it is refused whatever the provider is set to', async () => {
    const compaction = {
      id: 'resp_2',
      object: 'response.compaction',
      created_at: 1_790_000_000,
      output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }],
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    };
    for (const to of [refusing, estimating]) {
      const { account, responded } = await send(to, '/v1/responses/compact', responses, json(200, compaction));
      assert.equal(responded.status, 502, responded.text);
      await assertSpent(account, 0n);
    }
  });
});
