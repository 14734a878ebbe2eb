import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../errors/gateway-error.ts';
import { PLAIN_CHAT, PLAIN_MESSAGES } from './dialect.ts';
import { chatCallId, messagesCallId, providerToolName } from './names.ts';
import type { ClientFormName } from './pairs.ts';
import { type TranslationTarget, translateRequest } from './translated-request.ts';

/** Rules that hold for all requests, checked with random ones. */

const ALL = new Set(['user', 'seed', 'top_k', 'prompt_cache_key', 'json_schema', 'strict', 'cache_control']);
const targets = {
  chat: {
    form: 'chat',
    dialect: { ...PLAIN_CHAT, replay: 'reasoning_content', reasoning: 'effort', takes: ALL },
    maker: 'AAAAAAAAAAA',
    outputTokensMax: 64_000,
  },
  messages: {
    form: 'messages',
    dialect: { ...PLAIN_MESSAGES, thinking: 'adaptive', takes: ALL },
    maker: 'AAAAAAAAAAA',
    outputTokensMax: 64_000,
  },
} as const satisfies Readonly<Record<string, TranslationTarget>>;

const PAIRS = [
  ['messages', 'chat'],
  ['responses', 'chat'],
  ['chat', 'messages'],
  ['responses', 'messages'],
] as const;

function translate(client: ClientFormName, target: keyof typeof targets, request: object | string) {
  const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
  const { body: written, leftOut, added } = translateRequest({ client, body, model: 'm' }, targets[target]);
  const text = Buffer.from(written).toString('utf8');
  return { text, json: JSON.parse(text), leftOut, added };
}

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((text) => text.trim() !== '');
const call = fc.record({
  name: fc.constantFrom('read', 'mcp__files__read', 'a name'),
  input: fc.dictionary(word, fc.jsonValue(), { maxKeys: 3 }),
});
/** Turns of a conversation: what the user says, and calls that the assistant makes in response, with their results. */
const exchange = fc.record({
  user: word,
  reasoning: fc.option(word, { nil: null }),
  answer: word,
  calls: fc.array(fc.tuple(call, word), { maxLength: 3 }),
});
const conversation = fc.record({
  system: word,
  exchanges: fc.array(exchange, { minLength: 1, maxLength: 4 }),
  last: word,
});
type Said = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never;

const TOOLS = ['read', 'mcp__files__read', 'a name'];
const SCHEMA = { type: 'object', properties: { path: { type: 'string' } } };

/** Writes a conversation as a client of the protocol does. */
const requests: Readonly<Record<ClientFormName, (said: Said) => Record<string, unknown>>> = {
  messages: ({ system, exchanges, last }) => ({
    model: 'm',
    max_tokens: 1000,
    system,
    tools: TOOLS.map((name) => ({ name, input_schema: SCHEMA })),
    messages: [
      ...exchanges.flatMap(({ user, reasoning, answer, calls }, turn) => [
        { role: 'user', content: user },
        {
          role: 'assistant',
          content: [
            ...(reasoning === null ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'other' }]),
            { type: 'text', text: answer },
            ...calls.map(([{ name, input }], index) => ({ type: 'tool_use', id: `t${turn}_${index}`, name, input })),
          ],
        },
        ...(calls.length === 0
          ? []
          : [
              {
                role: 'user',
                content: calls.map(([, result], index) => ({
                  type: 'tool_result',
                  tool_use_id: `t${turn}_${index}`,
                  content: result,
                })),
              },
            ]),
      ]),
      { role: 'user', content: [{ type: 'text', text: last }] },
    ],
  }),
  chat: ({ system, exchanges, last }) => ({
    model: 'm',
    max_tokens: 1000,
    tools: TOOLS.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
    messages: [
      { role: 'system', content: system },
      ...exchanges.flatMap(({ user, answer, calls }, turn) => [
        { role: 'user', content: user },
        {
          role: 'assistant',
          content: answer,
          ...(calls.length > 0 && {
            tool_calls: calls.map(([{ name, input }], index) => ({
              id: `t${turn}:${index}`,
              type: 'function',
              function: { name, arguments: JSON.stringify(input) },
            })),
          }),
        },
        ...calls.map(([, result], index) => ({ role: 'tool', tool_call_id: `t${turn}:${index}`, content: result })),
      ]),
      { role: 'user', content: [{ type: 'text', text: last }] },
    ],
  }),
  responses: ({ system, exchanges, last }) => ({
    model: 'm',
    max_output_tokens: 1000,
    instructions: system,
    tools: TOOLS.map((name) => ({ type: 'function', name, parameters: SCHEMA })),
    input: [
      ...exchanges.flatMap(({ user, answer, calls }, turn) => [
        { role: 'user', content: user },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer, annotations: [] }] },
        ...calls.map(([{ name, input }], index) => ({
          type: 'function_call',
          call_id: `t${turn}:${index}`,
          name,
          arguments: JSON.stringify(input),
        })),
        ...calls.map(([, output], index) => ({ type: 'function_call_output', call_id: `t${turn}:${index}`, output })),
      ]),
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: last }] },
    ],
  }),
};

/** All strings of a JSON value. Arguments, which are JSON texts, are parsed. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    try {
      const inner: unknown = JSON.parse(value);
      return typeof inner === 'object' && inner !== null ? [value, ...stringsIn(inner)] : [value];
    } catch {
      return [value];
    }
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)]);
}

for (const [client, target] of PAIRS) {
  describe(`requests of ${client} for a provider of ${target}`, () => {
    it('arrive with all of their content', () => {
      fc.assert(
        fc.property(conversation, (said) => {
          const { json } = translate(client, target, requests[client](said));
          const arrived = stringsIn(json);
          const missing = [
            said.system,
            said.last,
            ...said.exchanges.flatMap(({ user, answer, calls }) => [
              user,
              answer,
              ...calls.flatMap(([{ input }, result]) => [result, ...stringsIn(input)]),
            ]),
          ].filter((text) => !arrived.some((each) => each.includes(text)));
          assert.deepEqual(missing, []);
        }),
      );
    });

    it('begin with the bytes of a shorter conversation', () => {
      fc.assert(
        fc.property(conversation, exchange, (said, more) => {
          const shorter = translate(client, target, requests[client](said)).text;
          const exchanges = [...said.exchanges, { ...more, user: said.last }];
          const longer = translate(client, target, requests[client]({ ...said, exchanges })).text;
          // The last turn of the shorter one is written as text parts in both.
          const common = shorter.slice(0, shorter.lastIndexOf(',{"role":"user"'));
          assert.equal(longer.slice(0, common.length), common);
        }),
      );
    });

    it('list each member that does not arrive', () => {
      fc.assert(
        fc.property(conversation, fc.stringMatching(/^zz[a-z]{3,10}$/), (said, name) => {
          const request = requests[client](said);
          const { text, leftOut } = translate(client, target, { ...request, [name]: { some: 'value' } });
          assert.ok(text.includes(`"${name}"`) || leftOut.includes(name), `${name} is neither sent nor listed`);
        }),
      );
    });

    it('keep numbers and escapes of arguments and schemas as they were written', () => {
      const args = String.raw`{"type":"object","properties":{},"id":9223372036854775807,"price":1.0,"path":"C:\\\u00fc\/","z":1e+2}`;
      const bodies = {
        messages: `{"model":"m","max_tokens":9,"tools":[{"name":"read","input_schema":${args}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"b"}]}]}`,
        chat: `{"model":"m","tools":[{"type":"function","function":{"name":"read","parameters":${args}}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"read","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"t","content":"b"}]}`,
        responses: `{"model":"m","tools":[{"type":"function","name":"read","parameters":${args}}],"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"t","name":"read","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"t","output":"b"}]}`,
      };
      const { text } = translate(client, target, bodies[client]);
      assert.ok(text.includes(`:${args}`), 'the schema');
      assert.ok(text.includes(target === 'chat' ? JSON.stringify(args) : `"input":${args}`), 'the arguments');
    });

    it('are refused with the member of the client if content cannot be expressed', () => {
      const strange = { type: 'hologram', data: 'x' };
      const request = requests[client]({ system: 's', exchanges: [], last: 'l' });
      const list = client === 'responses' ? 'input' : 'messages';
      const turns = [{ role: 'user', content: [strange] }];
      assert.throws(
        () => translate(client, target, { ...request, [list]: turns }),
        (error) =>
          error instanceof GatewayError &&
          error.status === 400 &&
          (error.param ?? '').startsWith(`${list}[0].content[0]`),
      );
    });

    it('refuse a result without a call', () => {
      const result = {
        messages: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'y' }] },
        chat: { role: 'tool', tool_call_id: 'x', content: 'y' },
        responses: { type: 'function_call_output', call_id: 'x', output: 'y' },
      }[client];
      const list = client === 'responses' ? 'input' : 'messages';
      const request = requests[client]({ system: 's', exchanges: [], last: 'l' });
      assert.throws(
        () => translate(client, target, { ...request, [list]: [{ role: 'user', content: 'a' }, result] }),
        GatewayError,
      );
    });
  });
}

describe('names and ids for providers', () => {
  it('differ if those of the client differ', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ minLength: 40, maxLength: 90 }),
      fc.constantFrom('\ud800', '\ud801', '\ufffd'),
    );
    fc.assert(
      fc.property(name, name, (one, other) => {
        fc.pre(one !== other && one !== '' && other !== '');
        assert.notEqual(
          providerToolName({ name: one, namespace: null }),
          providerToolName({ name: other, namespace: null }),
        );
        assert.notEqual(messagesCallId(one), messagesCallId(other));
        assert.notEqual(chatCallId(one), chatCallId(other));
      }),
    );
  });

  it('have only characters that providers accept', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => {
        assert.match(providerToolName({ name: text, namespace: null }), /^[a-zA-Z0-9_-]{1,64}$/);
        assert.match(messagesCallId(text), /^[a-zA-Z0-9_-]{1,64}$/);
        assert.match(chatCallId(text), /^.{1,40}$/su);
      }),
    );
  });
});

describe('tools that a client loads on request of the model', () => {
  it('can be called like others, once each', () => {
    const loaded = {
      type: 'namespace',
      name: 'files',
      tools: [{ type: 'function', name: 'read', parameters: SCHEMA, defer_loading: true }],
    };
    const { json } = translate('responses', 'chat', {
      model: 'm',
      tools: [{ type: 'tool_search', execution: 'client', parameters: SCHEMA }],
      input: [
        { role: 'user', content: 'a' },
        ...['s1', 's2'].flatMap((id) => [
          { type: 'tool_search_call', call_id: id, execution: 'client', arguments: { query: 'files' } },
          { type: 'tool_search_output', call_id: id, execution: 'client', tools: [loaded] },
        ]),
      ],
    });
    assert.deepEqual(
      json.tools.map((tool: { readonly function: { readonly name: string } }) => tool.function.name),
      ['tool_search', 'files__read'],
    );
  });
});

describe('members that would change an answer without a word', () => {
  const user = { role: 'user', content: 'a' };
  const refused: readonly (readonly [ClientFormName, keyof typeof targets, object, string])[] = [
    ['chat', 'messages', { messages: [user], stop: ['\n'] }, 'stop'],
    ['chat', 'messages', { messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    ['chat', 'messages', { messages: [user, { role: 'assistant', content: 'It is ' }] }, 'messages[1]'],
    ['chat', 'messages', { messages: [{ role: 'user', content: ' ' }] }, 'messages'],
    ['responses', 'chat', { input: 'a', include: ['message.output_text.logprobs'] }, 'include'],
    ['messages', 'chat', { messages: [{ role: 'user', content: { type: 'text', text: 'a' } }] }, 'messages[0].content'],
  ];
  for (const [client, target, request, param] of refused) {
    it(`are refused: ${param} of ${client} at ${target}`, () => {
      assert.throws(
        () => translate(client, target, { model: 'm', max_tokens: 9, ...request }),
        (error) => error instanceof GatewayError && error.status === 400 && error.param === param,
      );
    });
  }

  it('are listed', () => {
    const image = { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } };
    const details = [{ type: 'reasoning.text', text: 'x' }];
    const { leftOut, json } = translate('chat', 'messages', {
      model: 'm',
      temperature: 1.5,
      messages: [
        { role: 'user', content: [image] },
        { role: 'assistant', content: 'b', reasoning_details: details },
        { role: 'user', content: 'c' },
      ],
    });
    assert.deepEqual(leftOut, ['messages[].reasoning_details', 'messages[].content[].detail', 'temperature']);
    assert.equal(json.temperature, 1);
  });

  it('are kept apart: the line of Claude Code that changes, and the instructions behind it', () => {
    const system = 'x-anthropic-billing-header: cc_version=1;\nBe brief.';
    const { json, leftOut } = translate('messages', 'chat', { model: 'm', max_tokens: 9, system, messages: [user] });
    assert.equal(json.messages[0].content, 'Be brief.');
    assert.deepEqual(leftOut, ['system']);
  });
});
