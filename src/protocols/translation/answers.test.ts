import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';
import { eachEvent, SseSplitter } from '../../lib/sse/sse.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { AnswerError } from './answer.ts';
import type { ClientFormName, ProviderFormName } from './pairs.ts';
import { TranslatedStream, translateWhole } from './translated-answer.ts';
import type { AnswerFacts } from './translated-request.ts';

/** Rules that hold for all answers, checked with random ones. */

const PAIRS = [
  ['messages', 'chat'],
  ['responses', 'chat'],
  ['chat', 'messages'],
  ['responses', 'messages'],
] as const;

const facts = (client: ClientFormName, provider: ProviderFormName): AnswerFacts => ({
  client,
  provider,
  maker: 'AAAAAAAAAAA',
  model: 'm',
  tools: [
    { form: 'function', name: 'read', namespace: null },
    { form: 'custom', name: 'apply_patch', namespace: null },
  ],
  showsReasoning: true,
  reportsUsage: true,
  callIds: [],
  textBytes: 500,
});
const CALL = { callId: 'call_1', startedAtMs: 0 };
const USAGE = { ...noUsage, inputTokens: 300, cachedInputTokens: 200, outputTokens: 50, reasoningTokens: 10 };

interface Block {
  readonly kind: 'text' | 'reasoning' | 'call';
  readonly text: string;
}

/** An answer: reasoning, text, then calls, whose text is the arguments. */
const answer = fc.record({
  reasoning: fc.string({ unit: 'binary' }),
  text: fc.string({ unit: 'binary' }),
  calls: fc.array(fc.record({ path: fc.string({ unit: 'binary' }), n: fc.integer() }), { maxLength: 3 }),
});
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never;

function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', model: 'up', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

/** One item of each list after the other, as the deltas of parallel calls arrive. */
const inTurns = (lists: readonly (readonly string[])[]): string[] =>
  Array.from({ length: Math.max(0, ...lists.map(({ length }) => length)) }, (_, index) =>
    lists.flatMap((list) => list[index] ?? []),
  ).flat();

/** The stream and the whole response of a provider with the same answer. */
const providers = {
  chat: {
    stream: ({ reasoning, text, calls }: Answer, cuts: readonly number[]): string[] => [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(reasoning, cuts).map((piece) => chunk({ reasoning_content: piece })),
      ...pieces(text, cuts).map((piece) => chunk({ content: piece })),
      ...inTurns(
        calls.map((args, index) => [
          chunk({ tool_calls: [{ index, id: `t${index}`, function: { name: 'read', arguments: '' } }] }),
          ...pieces(JSON.stringify(args), cuts).map((piece) =>
            chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
          ),
        ]),
      ),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ],
    whole: ({ reasoning, text, calls }: Answer) => ({
      id: 'c1',
      model: 'up',
      choices: [
        {
          index: 0,
          message: {
            content: text,
            reasoning_content: reasoning,
            tool_calls: calls.map((args, index) => ({
              id: `t${index}`,
              function: { name: 'read', arguments: JSON.stringify(args) },
            })),
          },
          finish_reason: 'stop',
        },
      ],
    }),
  },
  messages: {
    stream: ({ reasoning, text, calls }: Answer, cuts: readonly number[]): string[] => {
      const blocks = [
        ...(reasoning === ''
          ? []
          : [[{ type: 'thinking', thinking: '', signature: '' }, 'thinking_delta', 'thinking', reasoning] as const]),
        ...(text === '' ? [] : [[{ type: 'text', text: '' }, 'text_delta', 'text', text] as const]),
        ...calls.map(
          (args, index) =>
            [
              { type: 'tool_use', id: `t${index}`, name: 'read', input: {} },
              'input_json_delta',
              'partial_json',
              JSON.stringify(args),
            ] as const,
        ),
      ];
      return [
        event('message_start', { message: { id: 'c1', model: 'up', content: [] } }),
        ...blocks.flatMap(([block, type, member, whole], index) => [
          event('content_block_start', { index, content_block: block }),
          ...pieces(whole, cuts).map((piece) =>
            event('content_block_delta', { index, delta: { type, [member]: piece } }),
          ),
          event('content_block_stop', { index }),
        ]),
        event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: {} }),
        event('message_stop', {}),
      ];
    },
    whole: ({ reasoning, text, calls }: Answer) => ({
      type: 'message',
      id: 'c1',
      model: 'up',
      content: [
        ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...calls.map((input, index) => ({ type: 'tool_use', id: `t${index}`, name: 'read', input })),
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
    }),
  },
};

/** @param places where the bytes of the stream are cut, as a network cuts them */
function streamed(
  client: ClientFormName,
  provider: ProviderFormName,
  events: readonly string[],
  places: readonly number[] = [],
): string {
  const stream = new TranslatedStream(facts(client, provider), CALL);
  const written: Buffer[] = [];
  const splitter = new SseSplitter({ events: (bytes) => written.push(stream.push(bytes)), oversize: assert.fail });
  const bytes = Buffer.from(events.join(''));
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  for (const [index, end] of ends.entries()) splitter.push(bytes.subarray(ends[index - 1] ?? 0, end));
  return Buffer.concat([...written, stream.close(), stream.end(USAGE)]).toString('utf8');
}

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
type Any = any;

function dataOf(stream: string): Any[] {
  return [...eachEvent(Buffer.from(stream))].flatMap((each) => {
    const text = eventFields(each).data?.toString('utf8');
    return text === undefined || text === '[DONE]' ? [] : [JSON.parse(text)];
  });
}

/** Reads the blocks that a client of each protocol sees, and checks the order of its events. */
const clients: Readonly<Record<ClientFormName, { stream(text: string): Block[]; whole(body: Any): Block[] }>> = {
  messages: {
    stream(text) {
      const blocks: { kind: Block['kind']; text: string }[] = [];
      let open = -1;
      const data = dataOf(text);
      assert.equal(data[0].type, 'message_start');
      assert.deepEqual(
        data.slice(-2).map(({ type }) => type),
        ['message_delta', 'message_stop'],
      );
      for (const { type, index, content_block, delta } of data.slice(1, -2)) {
        if (type === 'content_block_start') {
          assert.equal(open, -1, 'a block begins within another');
          assert.equal(index, blocks.length, 'indexes are contiguous');
          open = index;
          blocks.push({ kind: KINDS[content_block.type as keyof typeof KINDS], text: '' });
        } else {
          assert.equal(index, open);
          if (type === 'content_block_stop') open = -1;
          else blocks.at(-1)!.text += delta.text ?? delta.thinking ?? delta.partial_json ?? '';
        }
      }
      assert.equal(open, -1);
      return blocks;
    },
    whole: ({ content }) =>
      content.map((block: Any) => ({
        kind: KINDS[block.type as keyof typeof KINDS],
        text: block.text ?? block.thinking ?? JSON.stringify(block.input),
      })),
  },
  chat: {
    stream(text) {
      const blocks: { kind: Block['kind']; text: string }[] = [];
      const data = dataOf(text);
      assert.ok(text.endsWith('data: [DONE]\n\n'));
      for (const { choices } of data) {
        const delta = choices[0]?.delta ?? {};
        const [called] = delta.tool_calls ?? [];
        if (called?.id !== undefined) blocks.push({ kind: 'call', text: '' });
        const kind = called !== undefined ? 'call' : delta.reasoning_content !== undefined ? 'reasoning' : 'text';
        const piece = called?.function.arguments ?? delta.reasoning_content ?? delta.content ?? '';
        if (piece === '') continue;
        if (blocks.at(-1)?.kind !== kind) blocks.push({ kind, text: '' });
        blocks.at(-1)!.text += piece;
      }
      return blocks;
    },
    whole: ({ choices: [{ message }] }) => [
      ...(message.reasoning_content ? [{ kind: 'reasoning', text: message.reasoning_content }] : []),
      ...(message.content ? [{ kind: 'text', text: message.content }] : []),
      ...(message.tool_calls ?? []).map((call: Any) => ({ kind: 'call', text: call.function.arguments })),
    ],
  },
  responses: {
    stream(text) {
      const data = dataOf(text);
      assert.deepEqual(
        data.map(({ sequence_number }) => sequence_number),
        [...data.keys()],
      );
      assert.deepEqual(
        data.slice(0, 2).map(({ type }) => type),
        ['response.created', 'response.in_progress'],
      );
      const { response } = data.at(-1);
      const done = data.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      assert.deepEqual(response.output, done, 'the last event repeats all items');
      const deltas = data.filter(({ type }) => type.endsWith('.delta')).map(({ delta }) => delta);
      const blocks = clients.responses.whole(response);
      assert.equal(deltas.join(''), blocks.map((block) => block.text).join(''));
      return blocks;
    },
    whole: ({ output }) =>
      output.map((item: Any) => {
        if (item.type === 'function_call') return { kind: 'call', text: item.arguments };
        if (item.type === 'reasoning')
          return { kind: 'reasoning', text: item.summary.map((part: Any) => part.text).join('') };
        return { kind: 'text', text: item.content.map((part: Any) => part.text).join('') };
      }),
  },
};
const DELTA_TYPES: Readonly<Record<string, string>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  partial_json: 'input_json_delta',
};
const KINDS = { text: 'text', thinking: 'reasoning', tool_use: 'call' } as const;

const cuts = fc.array(fc.nat(), { maxLength: 8 });
const parsedCalls = (blocks: readonly Block[]) =>
  blocks.map(({ kind, text }) => ({ kind, text: kind === 'call' ? JSON.parse(text) : text.toWellFormed() }));

for (const [client, provider] of PAIRS) {
  describe(`answers of ${provider} for a client of ${client}`, () => {
    it('are the same blocks, streamed in any pieces and whole', () => {
      fc.assert(
        fc.property(answer, cuts, (given, places) => {
          const expected = [
            ...(given.reasoning === '' ? [] : [{ kind: 'reasoning', text: given.reasoning.toWellFormed() }]),
            ...(given.text === '' ? [] : [{ kind: 'text', text: given.text.toWellFormed() }]),
            ...given.calls.map((args) => ({ kind: 'call', text: JSON.parse(JSON.stringify(args)) })),
          ];
          const stream = streamed(client, provider, providers[provider].stream(given, places), places);
          assert.deepEqual(parsedCalls(clients[client].stream(stream)), expected);
          const body = Buffer.from(JSON.stringify(providers[provider].whole(given)));
          const whole = JSON.parse(translateWhole(facts(client, provider), CALL, body, USAGE).toString('utf8'));
          assert.deepEqual(parsedCalls(clients[client].whole(whole)), expected);
          assert.equal(whole.model, 'm', 'the model that the client asked for');
        }),
      );
    });

    it('follow the rules of the protocol, whatever the provider sends', () => {
      const delta = fc.record(
        {
          content: fc.oneof(fc.string(), fc.constant(null)),
          reasoning_content: fc.oneof(fc.string(), fc.constant(null)),
          tool_calls: fc.array(
            fc.record(
              {
                index: fc.nat({ max: 2 }),
                id: fc.constantFrom('a', 'b', ''),
                function: fc.record(
                  { name: fc.constantFrom('read', ''), arguments: fc.constantFrom('', '{', '}', '{}', '"x"') },
                  { requiredKeys: [] },
                ),
              },
              { requiredKeys: [] },
            ),
            { maxLength: 2 },
          ),
        },
        { requiredKeys: [] },
      );
      const block = fc.record({
        type: fc.constantFrom('text', 'thinking', 'tool_use'),
        id: fc.constant('t'),
        name: fc.constant('read'),
        input: fc.constant({}),
      });
      const finish = fc.constantFrom(null, null, 'stop', 'tool_calls', 'length', '', 'made_up');
      const index = fc.constantFrom(0, 1, undefined);
      const garbage = {
        chat: fc.oneof(
          fc.tuple(delta, finish).map(([each, reason]) => chunk(each, reason)),
          fc.constant(
            `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })}\n\n`,
          ),
          fc.constant(`data: ${JSON.stringify({ choices: [{ delta: null, message: { content: 'm' } }] })}\n\n`),
          fc.constant('data: [DONE]\n\n'),
          fc.jsonValue().map((value) => `data: ${JSON.stringify(value)}\n\n`),
          fc.constant(': comment\n\n'),
        ),
        messages: fc.oneof(
          fc
            .tuple(index, block)
            .map(([at, content_block]) => event('content_block_start', { index: at, content_block })),
          fc
            .tuple(index, fc.constantFrom('text', 'thinking', 'partial_json'), fc.string())
            .map(([at, member, text]) =>
              event('content_block_delta', { index: at, delta: { type: DELTA_TYPES[member], [member]: text } }),
            ),
          index.map((at) => event('content_block_stop', { index: at })),
          fc.constant(event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: 'x' }, usage: {} })),
          fc.constant(event('message_start', { message: { id: 'c2' } })),
          fc.jsonValue().map((value) => `data: ${JSON.stringify(value)}\n\n`),
        ),
      }[provider];
      fc.assert(
        fc.property(fc.array(garbage, { maxLength: 16 }), (events) => {
          let stream: string;
          try {
            stream = streamed(client, provider, events);
          } catch (error) {
            assert.ok(error instanceof AnswerError || error instanceof JsonSyntaxError, String(error));
            return;
          }
          clients[client].stream(stream);
        }),
      );
    });

    it('show the usage by which the call is charged, streamed and whole', () => {
      const tokens = fc.nat({ max: 1_000_000 });
      const counts = fc.record({
        inputTokens: tokens,
        cachedInputTokens: tokens,
        cacheWriteTokens: tokens,
        cacheWrite1hTokens: tokens,
        outputTokens: tokens,
        separateReasoningTokens: tokens,
      });
      const given = { reasoning: '', text: 'x', calls: [] };
      const body = Buffer.from(JSON.stringify(providers[provider].whole(given)));
      fc.assert(
        fc.property(counts, (counted) => {
          const usage = { ...noUsage, ...counted };
          const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
          const stream = new TranslatedStream(facts(client, provider), CALL);
          const events = providers[provider].stream(given, []).map((each) => stream.push(Buffer.from(each)));
          const data = dataOf(Buffer.concat([...events, stream.close(), stream.end(usage)]).toString('utf8'));
          const last = data.findLast((each) => each.usage != null || each.response?.usage != null);
          const whole = JSON.parse(translateWhole(facts(client, provider), CALL, body, usage).toString('utf8'));
          assert.deepEqual(last.usage ?? last.response.usage, whole.usage);
          const shown = whole.usage;
          const written = cacheWriteTokens + cacheWrite1hTokens;
          const input =
            client === 'messages'
              ? shown.input_tokens + shown.cache_read_input_tokens + shown.cache_creation_input_tokens
              : (shown.prompt_tokens ?? shown.input_tokens);
          assert.equal(input, inputTokens + cachedInputTokens + written);
          if (client === 'messages') assert.equal(shown.cache_read_input_tokens, cachedInputTokens);
          const output = shown.output_tokens ?? shown.completion_tokens;
          assert.equal(output, usage.outputTokens + usage.separateReasoningTokens);
          if (client !== 'messages') assert.equal(shown.total_tokens, input + output);
        }),
      );
    });
  });
}

describe('calls whose arguments a chat provider mixes', () => {
  /** Calls with the pieces of their arguments, and the order in which the pieces of all calls arrive. */
  const mixed = fc.record({
    calls: fc.array(
      fc.record({ args: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2, noNullPrototype: true }), cuts }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    order: fc.array(fc.nat(), { maxLength: 40 }),
    id: fc.constantFrom('own', 'repeated', 'empty'),
    text: fc.string(),
  });

  it('arrive whole, one after the other, each with an id of its own', () => {
    fc.assert(
      fc.property(mixed, ({ calls, order, id, text }) => {
        const waiting = calls.map(({ args, cuts: places }) => pieces(JSON.stringify(args), places));
        const events = [chunk({ content: text })];
        const ids = calls.map((_, index) => ({ own: `t${index}`, repeated: 't', empty: '' })[id]);
        const send = (index: number): void => {
          const [piece] = waiting[index]!.splice(0, 1);
          if (piece === undefined) return;
          events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
        };
        for (const index of calls.keys()) {
          events.push(chunk({ tool_calls: [{ index, id: ids[index], function: { name: 'read', arguments: '' } }] }));
        }
        for (const place of order) send(place % calls.length);
        for (const index of calls.keys()) while (waiting[index]!.length > 0) send(index);
        const { response } = dataOf(streamed('responses', 'chat', [...events, chunk({}, 'tool_calls')])).at(-1);
        const made = response.output.filter(({ type }: Any) => type === 'function_call');
        assert.deepEqual(
          made.map((item: Any) => JSON.parse(item.arguments)),
          calls.map(({ args }) => args),
        );
        assert.equal(new Set(made.map((item: Any) => item.call_id)).size, calls.length);
        if (id === 'own') {
          assert.deepEqual(
            made.map((item: Any) => item.call_id),
            ids,
          );
        }
      }),
    );
  });

  it('are told apart without ids and indexes', () => {
    const made = ['{"a":1}', '{"b":2}'].map((args) =>
      chunk({ tool_calls: [{ id: '', function: { name: 'read', arguments: args } }] }),
    );
    const { response } = dataOf(streamed('responses', 'chat', [...made, chunk({}, 'stop')])).at(-1);
    assert.deepEqual(
      response.output.map((item: Any) => item.arguments),
      ['{"a":1}', '{"b":2}'],
    );
  });

  it('have an empty object in place of no arguments', () => {
    const made = chunk({ tool_calls: [{ index: 0, id: 't', function: { name: 'read', arguments: '' } }] });
    const [item] = dataOf(streamed('responses', 'chat', [made, chunk({}, 'stop')])).at(-1).response.output;
    assert.equal(item.arguments, '{}');
  });
});

describe('calls of a custom tool', () => {
  it('have their text as input, in any pieces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), cuts, (input, places) => {
        const args = JSON.stringify({ input });
        const events = [
          chunk({ tool_calls: [{ index: 0, id: 't', function: { name: 'apply_patch', arguments: '' } }] }),
          ...pieces(args, places).map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
          chunk({}, 'tool_calls'),
        ];
        const data = dataOf(streamed('responses', 'chat', events));
        const [item] = data.at(-1).response.output;
        assert.equal(item.type, 'custom_tool_call');
        assert.equal(item.input, input);
        const deltas = data.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
        assert.equal(deltas.map(({ delta }) => delta).join(''), input);
      }),
    );
  });
});
