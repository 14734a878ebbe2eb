import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PLAIN_CHAT, PLAIN_MESSAGES } from '../../src/protocols/translation/dialect.ts';
import { call } from '../support/client.ts';
import { assertSpent, costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { event, json, type Respond, sse } from '../support/provider.ts';
import { strict } from '../support/strict-provider.ts';

/** A client, a gateway that translates, a second one that translates back, and a strict provider: as if neither gateway were there. */

const THINKING = { type: 'thinking', thinking: 'Let me look.', signature: 'c2lnbmVk' };
const CALLS = [
  { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a “b”.ts', n: 1 } },
  { type: 'tool_use', id: 'toolu_2', name: 'read', input: {} },
];
const TEXT = { type: 'text', text: 'I read “it”.\n' };
const USAGE = { input_tokens: 50, output_tokens: 40, cache_read_input_tokens: 600, cache_creation_input_tokens: 100 };
const COST = costNano({ input: 50, cached: 600, written: 100, output: 40 });

const MESSAGE = {
  id: 'msg_7',
  type: 'message',
  role: 'assistant',
  model: 'upstream-messages',
  content: [THINKING, TEXT, ...CALLS],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: USAGE,
};
const MESSAGE_EVENTS = [
  event('message_start', {
    message: { ...MESSAGE, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  }),
  ...blockEvents(0, { ...THINKING, thinking: '', signature: '' }, [
    { type: 'thinking_delta', thinking: 'Let me ' },
    { type: 'thinking_delta', thinking: 'look.' },
    { type: 'signature_delta', signature: THINKING.signature },
  ]),
  ...blockEvents(1, { type: 'text', text: '' }, [{ type: 'text_delta', text: TEXT.text }]),
  ...CALLS.flatMap((block, index) =>
    blockEvents(index + 2, { ...block, input: {} }, [
      { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
    ]),
  ),
  event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 40 } }),
  event('message_stop'),
];

const COMPLETION = {
  id: 'chatcmpl-7',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-chat',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: TEXT.text,
        reasoning_content: THINKING.thinking,
        tool_calls: CALLS.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: JSON.stringify(input) },
        })),
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 750,
    completion_tokens: 40,
    total_tokens: 790,
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
  },
};
const { usage: CHAT_USAGE, choices } = COMPLETION;
const { tool_calls, ...said } = choices[0]!.message;
const COMPLETION_EVENTS = [
  ...Object.entries(said).map(([name, value]) => chunk({ [name]: value })),
  ...tool_calls.map((made, index) => chunk({ tool_calls: [{ index, ...made }] })),
  chunk({}, 'tool_calls'),
  `data: ${JSON.stringify({ id: 'chatcmpl-7', object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE })}\n\n`,
  'data: [DONE]\n\n',
];

function blockEvents(index: number, block: object, deltas: readonly object[]): string[] {
  return [
    event('content_block_start', { index, content_block: block }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
}

function chunk(delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: 'chatcmpl-7', object: 'chat.completion.chunk', choices: [choice] })}\n\n`;
}

const TOOL = {
  name: 'read',
  description: 'Reads.',
  schema: { type: 'object', properties: { path: { type: 'string' } } },
};
const PICTURE = 'iVBORw0KGgo=';

describe('two gateways in a row', () => {
  let inner: TestGateway;
  let outer: TestGateway;
  let innerAccount: TestAccount;
  let account: TestAccount;
  before(async () => {
    inner = await startGateway({
      models: `  served-by-messages:
    operations: [chat]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages, translate: [chat], dialect: { thinking: adaptive } }]
  served-by-chat:
    operations: [messages]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages], dialect: { replay: reasoning_content } }]
`,
    });
    innerAccount = await inner.createAccount();
    outer = await startGateway({
      providers: `  inner-chat: { protocol: chat, baseUrl: "${inner.url}/v1", apiKey: ${innerAccount.key} }
  inner-messages: { protocol: messages, baseUrl: "${inner.url}", apiKey: ${innerAccount.key} }
`,
      models: `  there-and-back-messages:
    operations: [messages]
    price: ${PRICE}
    routes:
      - { provider: inner-chat, model: served-by-messages, translate: [messages], dialect: { reasoning: effort, replay: reasoning_details, toolMedia: tool } }
  there-and-back-chat:
    operations: [chat]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: inner-messages, model: served-by-chat, translate: [chat] }]
`,
    });
  });
  after(async () => {
    await outer.stop();
    await inner.stop();
  });

  function strictly(respond: Respond): Respond {
    const issued = new Map([[THINKING.signature, THINKING.thinking]]);
    return strict(
      {
        chat: {
          dialect: { ...PLAIN_CHAT, replay: 'reasoning_content' },
          issued: new Map(CALLS.map(({ id }) => [id, THINKING.thinking])),
        },
        messages: { dialect: { ...PLAIN_MESSAGES, thinking: 'adaptive' }, issued },
      },
      respond,
    );
  }

  const sent = () => JSON.parse(inner.provider.requests.at(-1)!.body.toString('utf8'));
  async function send(path: string, body: object, respond: Respond) {
    inner.provider.respond = strictly(respond);
    const [before, beforeInner] = await Promise.all([account.money(), innerAccount.money()]);
    const response = await call(outer.url + path, account.key, body);
    assert.ok(await response.ended());
    assert.equal(response.status, 200, response.text);
    const [now, nowInner] = await Promise.all([account.money(), innerAccount.money()]);
    assert.equal(before.balanceNano - now.balanceNano, COST, 'the charge of the outer gateway');
    assert.equal(beforeInner.balanceNano - nowInner.balanceNano, COST, 'the charge of the inner gateway');
    return response;
  }

  for (const isStream of [false, true]) {
    test(`messages to chat to messages, ${isStream ? 'streamed' : 'whole'}: the provider gets its own turns back`, async () => {
      account = await outer.createAccount();
      const turns: object[] = [{ role: 'user', content: [{ type: 'text', text: 'Read it.' }] }];
      const request = {
        model: 'there-and-back-messages',
        max_tokens: 1000,
        system: [{ type: 'text', text: 'Be “brief”.' }],
        tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }],
        thinking: { type: 'enabled', budget_tokens: 1024 },
        stream: isStream,
      };
      const respond = isStream ? sse(MESSAGE_EVENTS) : json(200, MESSAGE);
      const first = await send('/v1/messages', { ...request, messages: turns }, respond);
      const content = isStream ? contentOf(first.text) : first.json.content;
      assert.deepEqual(content.slice(1), [TEXT, ...CALLS]);
      assert.equal(content[0].thinking, THINKING.thinking);
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } };
      const results = CALLS.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: [{ type: 'text', text: `of ${id}` }, image],
      }));
      const messages = [...turns, { role: 'assistant', content }, { role: 'user', content: results }];
      await send('/v1/messages', { ...request, messages }, respond);
      const { system, tools, messages: arrived } = sent();
      assert.deepEqual(system, request.system);
      assert.deepEqual(tools, request.tools);
      assert.deepEqual(arrived, [
        ...turns,
        { role: 'assistant', content: MESSAGE.content },
        { role: 'user', content: results },
      ]);
    });

    test(`chat to messages to chat, ${isStream ? 'streamed' : 'whole'}: the provider gets its own turns back`, async () => {
      account = await outer.createAccount();
      const request = {
        model: 'there-and-back-chat',
        max_tokens: 1000,
        tools: [
          { type: 'function', function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.schema } },
        ],
        stream: isStream,
        ...(isStream && { stream_options: { include_usage: true } }),
      };
      const turns: object[] = [
        { role: 'system', content: 'Be “brief”.' },
        { role: 'user', content: 'Read it.' },
      ];
      const respond = isStream ? sse(COMPLETION_EVENTS) : json(200, COMPLETION);
      const first = await send('/v1/chat/completions', { ...request, messages: turns }, respond);
      const message = isStream ? messageOf(first.text) : first.json.choices[0].message;
      assert.equal(message.content, TEXT.text);
      assert.equal(message.reasoning_content, THINKING.thinking);
      assert.deepEqual(message.tool_calls, tool_calls);
      const results = CALLS.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` }));
      await send('/v1/chat/completions', { ...request, messages: [...turns, message, ...results] }, respond);
      const { messages, tools } = sent();
      assert.deepEqual(tools, request.tools);
      assert.deepEqual(messages, [...turns, choices[0]!.message, ...results]);
    });
  }

  test('both count what was spent', async () => {
    await assertSpent(innerAccount, 8n * COST);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
type Any = any;

const dataOf = (stream: string): Any[] =>
  [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!));

/** The content of a messages stream, as clients put it together. */
function contentOf(stream: string): Any[] {
  const blocks: Any[] = [];
  for (const { type, index, content_block, delta } of dataOf(stream)) {
    if (type === 'content_block_start') blocks[index] = { ...content_block, json: '' };
    if (type !== 'content_block_delta') continue;
    const block = blocks[index];
    if (delta.type === 'text_delta') block.text += delta.text;
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    if (delta.type === 'signature_delta') block.signature += delta.signature;
    if (delta.type === 'input_json_delta') block.json += delta.partial_json;
  }
  return blocks.map(({ json: written, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(written) } : block,
  );
}

/** The message of a chat stream, as clients put it together. */
function messageOf(stream: string): Any {
  const message: Any = { role: 'assistant', content: '', reasoning_content: '', reasoning_details: [], tool_calls: [] };
  for (const {
    choices: [choice],
  } of dataOf(stream)) {
    const { content, reasoning_content, reasoning_details, tool_calls: calls } = choice?.delta ?? {};
    message.content += content ?? '';
    message.reasoning_content += reasoning_content ?? '';
    message.reasoning_details.push(...(reasoning_details ?? []));
    for (const { index, ...made } of calls ?? []) {
      if (made.id === undefined) message.tool_calls[index].function.arguments += made.function.arguments;
      else message.tool_calls[index] = made;
    }
  }
  return message;
}
