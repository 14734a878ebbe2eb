import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { assertSpent, costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, sse } from '../support/provider.ts';

/** The vendors' SDKs, unmodified, with models that only providers of another protocol serve. */

const MODELS = `  chat-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses] }]
  messages-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages, translate: [chat, responses], dialect: { thinking: budget, promptCache: auto } }]
`;

const CHAT_USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 50,
  total_tokens: 1050,
  prompt_tokens_details: { cached_tokens: 600 },
  completion_tokens_details: { reasoning_tokens: 30 },
};
const CHAT_COST = costNano({ input: 400, cached: 600, output: 50 });
const MESSAGES_USAGE = {
  input_tokens: 50,
  output_tokens: 40,
  cache_read_input_tokens: 600,
  cache_creation_input_tokens: 100,
};
const MESSAGES_COST = costNano({ input: 50, cached: 600, written: 100, output: 40 });

const chunk = (delta: object, finish: string | null = null, usage?: object): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-7',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-chat',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(usage && { usage }),
  })}\n\n`;

/** A chat stream with reasoning, text, and two calls whose arguments take turns. */
const CHAT_STREAM = [
  ': keep-alive\n\n',
  chunk({ role: 'assistant', content: null, reasoning_content: 'Let me ' }),
  chunk({ reasoning_content: 'look.' }),
  chunk({ content: 'I read ' }),
  chunk({ content: 'both “files”.' }),
  chunk({ tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'read', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path":"a' } }] }),
  chunk({
    tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'read', arguments: '{"path":' } }],
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '.ts","big":9007199254740993}' } }] }),
  chunk({ tool_calls: [{ index: 1, function: { arguments: '"b.ts"}' } }] }),
  chunk({}, 'tool_calls'),
  `data: ${JSON.stringify({ id: 'chatcmpl-7', object: 'chat.completion.chunk', created: 1, model: 'upstream-chat', choices: [], usage: CHAT_USAGE })}\n\n`,
  'data: [DONE]\n\n',
];

const CHAT_WHOLE = {
  id: 'chatcmpl-7',
  object: 'chat.completion',
  created: 1,
  model: 'upstream-chat',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'I read both “files”.',
        reasoning_content: 'Let me look.',
        tool_calls: [
          {
            id: 'call_a',
            type: 'function',
            function: { name: 'read', arguments: '{"path":"a.ts","big":9007199254740993}' },
          },
          { id: 'call_b', type: 'function', function: { name: 'read', arguments: '{"path":"b.ts"}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: CHAT_USAGE,
};

const MESSAGES_WHOLE = {
  id: 'msg_7',
  type: 'message',
  role: 'assistant',
  model: 'upstream-messages',
  content: [
    { type: 'thinking', thinking: 'Let me look.', signature: 'c2lnbmVk' },
    { type: 'text', text: 'I read “it”.' },
    { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.ts' } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: MESSAGES_USAGE,
};

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

const MESSAGES_STREAM = [
  event('message_start', {
    message: { ...MESSAGES_WHOLE, content: [], stop_reason: null, usage: { ...MESSAGES_USAGE, output_tokens: 1 } },
  }),
  event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Let me look.' } }),
  event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } }),
  event('content_block_stop', { index: 0 }),
  event('ping', {}),
  event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'I read ' } }),
  event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: '“it”.' } }),
  event('content_block_stop', { index: 1 }),
  event('content_block_start', {
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
  }),
  event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{"path":' } }),
  event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '"a.ts"}' } }),
  event('content_block_stop', { index: 2 }),
  event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 40 } }),
  event('message_stop', {}),
];

const READ_SCHEMA = { type: 'object' as const, properties: { path: { type: 'string' } } };

describe('the SDKs of the vendors with translated models', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      models: MODELS,
    });
  });
  after(() => gateway.stop());
  const anthropic = ({ key }: TestAccount) => new Anthropic({ apiKey: key, baseURL: gateway.url, maxRetries: 0 });
  const openai = ({ key }: TestAccount) => new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const sent = () => JSON.parse(gateway.provider.requests.at(-1)!.body.toString('utf8'));

  const messagesRequest = {
    model: 'chat-only',
    max_tokens: 100_000,
    system: 'Be brief.',
    tools: [{ name: 'read', description: 'Reads a file.', input_schema: READ_SCHEMA }],
    messages: [{ role: 'user' as const, content: 'Read both.' }],
  };

  for (const isStream of [true, false]) {
    test(`messages to chat, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = isStream ? sse(CHAT_STREAM) : json(200, CHAT_WHOLE);
      const { messages } = anthropic(account);
      const answer = await (isStream
        ? messages.stream(messagesRequest).finalMessage()
        : messages.create({ ...messagesRequest, max_tokens: 1000 }));
      assert.deepEqual(
        answer.content.map((block) => (block.type === 'thinking' ? { ...block, signature: '' } : block)),
        [
          { type: 'thinking', thinking: 'Let me look.', signature: '' },
          { type: 'text', text: 'I read both “files”.' },
          { type: 'tool_use', id: 'call_a', name: 'read', input: { path: 'a.ts', big: 9007199254740992 } },
          { type: 'tool_use', id: 'call_b', name: 'read', input: { path: 'b.ts' } },
        ],
      );
      assert.equal(answer.stop_reason, 'tool_use');
      assert.equal(answer.usage.input_tokens, 400);
      assert.equal(answer.usage.cache_read_input_tokens, 600);
      assert.equal(answer.usage.output_tokens, 50);
      assert.deepEqual(sent().messages, [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Read both.' },
      ]);
      assert.equal(sent().max_tokens, isStream ? 64_000 : 1000);
      assert.equal(gateway.provider.requests.at(-1)!.path, '/v1/chat/completions');
      await assertSpent(account, CHAT_COST);
      assert.equal((await account.lastCall()).operation, 'messages');
    });

    test(`responses to chat, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = isStream ? sse(CHAT_STREAM) : json(200, CHAT_WHOLE);
      const request = {
        model: 'chat-only',
        instructions: 'Be brief.',
        input: 'Read both.',
        reasoning: { summary: 'auto' as const },
        tools: [{ type: 'function' as const, name: 'read', parameters: READ_SCHEMA, strict: false }],
      };
      const { responses } = openai(account);
      const answer = await (isStream ? responses.stream(request).finalResponse() : responses.create(request));
      assert.deepEqual(
        answer.output.map((item) => {
          if (item.type === 'message')
            return item.content.map((part) => (part.type === 'output_text' ? part.text : ''));
          if (item.type === 'function_call') return [item.call_id, item.name, item.arguments];
          return item.type === 'reasoning' ? item.summary.map(({ text }) => text) : [];
        }),
        [
          ['Let me look.'],
          ['I read both “files”.'],
          ['call_a', 'read', '{"path":"a.ts","big":9007199254740993}'],
          ['call_b', 'read', '{"path":"b.ts"}'],
        ],
      );
      assert.equal(answer.status, 'completed');
      assert.equal(answer.usage?.input_tokens, 1000);
      assert.equal(answer.usage?.input_tokens_details.cached_tokens, 600);
      assert.equal(answer.usage?.output_tokens_details.reasoning_tokens, 30);
      await assertSpent(account, CHAT_COST);
    });

    test(`chat to messages, ${isStream ? 'streamed' : 'whole'}`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = isStream ? sse(MESSAGES_STREAM) : json(200, MESSAGES_WHOLE);
      const request = {
        model: 'messages-only',
        reasoning_effort: 'low' as const,
        messages: [
          { role: 'system' as const, content: 'Be brief.' },
          { role: 'user' as const, content: 'Read it.' },
        ],
        tools: [{ type: 'function' as const, function: { name: 'read', parameters: READ_SCHEMA } }],
      };
      const { completions } = openai(account).chat;
      const answer = await (isStream
        ? completions.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
        : completions.create(request));
      const { message, finish_reason } = answer.choices[0]!;
      assert.equal(message.content, 'I read “it”.');
      assert.equal(finish_reason, 'tool_calls');
      const [call] = message.tool_calls!;
      assert.deepEqual(call?.type === 'function' && [call.id, call.function.name, call.function.arguments], [
        'toolu_1',
        'read',
        '{"path":"a.ts"}',
      ]);
      assert.equal(answer.usage?.prompt_tokens, 750);
      assert.equal(answer.usage?.prompt_tokens_details?.cached_tokens, 600);
      assert.deepEqual(sent().thinking, { type: 'enabled', budget_tokens: 2048 });
      assert.equal(sent().max_tokens, 64_000);
      await assertSpent(account, MESSAGES_COST);
    });

    test(`responses to messages, ${isStream ? 'streamed' : 'whole'}, and the reasoning comes back`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = isStream ? sse(MESSAGES_STREAM) : json(200, MESSAGES_WHOLE);
      const request = {
        model: 'messages-only',
        input: [{ role: 'user' as const, content: 'Read it.' }],
        reasoning: { effort: 'low' as const },
        tools: [{ type: 'function' as const, name: 'read', parameters: READ_SCHEMA, strict: false }],
      };
      const { responses } = openai(account);
      const answer = await (isStream ? responses.stream(request).finalResponse() : responses.create(request));
      assert.equal(answer.output_text, 'I read “it”.');
      await assertSpent(account, MESSAGES_COST);
      const result = { type: 'function_call_output' as const, call_id: 'toolu_1', output: 'done' };
      gateway.provider.respond = json(200, {
        ...MESSAGES_WHOLE,
        content: [{ type: 'text', text: 'Done.' }],
        stop_reason: 'end_turn',
      });
      const second = await responses.create({
        ...request,
        input: [...request.input, ...(answer.output as never[]), result],
      });
      assert.equal(second.output_text, 'Done.');
      assert.deepEqual(sent().messages[1].content, MESSAGES_WHOLE.content);
      assert.deepEqual(sent().messages[2].content, [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'done' }] },
      ]);
    });
  }
});
