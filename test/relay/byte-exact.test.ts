import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { call } from '../support/client.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { keySpelling, memberOf, memberText, objectText, space, stringText, valueText } from '../support/json-text.ts';
import { chatResponse, type Respond } from '../support/provider.ts';
import { propertyRuns } from '../support/scope.ts';

/**
 * Bodies pass through byte for byte. What the gateway has to change for the provider, the model id and the request for usage, is replaced
 * in place; everything else keeps its spelling in both directions.
 */

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';

/** JSON that does not survive parsing and printing. */
const oddMembers = [
  '"big" : 9223372036854775807',
  '"bigger":123456789012345678901234567890,\r\n\t"precise":0.10, "tiny": -1.50E-07,"zero":-0',
  '"twice": 1, "twice" : {"stream":true,"usage":{}}, "twice": [ ]',
  '"metadata" : {"model":"inner","stream":true,"usage":{}}',
  '"escapes": "\\u0041\\/\\ud83d\\ude00\\u0000\\ud800", "raw":"Zürich 北京 😀 \u2028 \ufeff \u007f"',
  '"\\u006dodel2":"model","":"", "__proto__":{"a":1},"constructor":null',
];

describe('byte-exact bodies', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  describe('requests', () => {
    test('any body arrives unchanged but for the model id and the request for usage', async () => {
      const known = ['model', 'messages', 'stream', 'stream_options', 'n', 'max_tokens', 'max_completion_tokens'];
      const unknown = memberOf(
        stringText.filter(({ value }) => !known.includes(value)),
        valueText,
      ).map(memberText);
      const pieces = fc.record({
        before: space,
        after: space,
        others: fc.array(fc.oneof(unknown, fc.constantFrom(...oddMembers)), { maxLength: 6 }),
        messages: memberOf(keySpelling('messages'), fc.constant('[ {} ]')),
        model: memberOf(
          keySpelling('model'),
          fc.constantFrom('"test-chat"', '"test-c\\u0068at"', '"test-chat-latest"'),
        ),
        stream: memberOf(keySpelling('stream'), fc.constantFrom('true', 'false', 'null')),
        order: fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
      });
      await fc.assert(
        fc.asyncProperty(pieces, async ({ before, after, others, messages, model, stream, order }) => {
          const body = (modelText: string, more: string): string => {
            const members = [...others];
            const needed = [messages, { ...model, value: modelText }, stream].map(memberText);
            for (const [index, member] of needed.entries())
              members.splice(order[index]! % (members.length + 1), 0, member);
            return `${before}{${members.join(',')}${more}}${after}`;
          };
          const asked = stream.value === 'true' ? ',"stream_options":{"include_usage":true}' : '';
          gateway.provider.respond = chatResponse();
          const response = await call(gateway.url + CHAT, account.key, body(model.value, ''));
          assert.equal(response.status, 200, response.text);
          assert.equal(gateway.provider.requests.at(-1)!.body.toString(), body('"upstream-chat"', asked));
        }),
        { numRuns: propertyRuns(80) },
      );
    });
  });

  describe('non-streaming responses', () => {
    test('any response with usage comes back unchanged, however the network splits it', async () => {
      const own = await gateway.createAccount();
      const usage = {
        chat: '{"prompt_tokens":11,"completion_tokens":7}',
        messages: '{"output_tokens":7, "input_tokens":11}',
      };
      let runs = 0;
      const responses = fc.record({
        protocol: fc.constantFrom('chat', 'messages'),
        before: fc.array(
          memberOf(
            stringText.filter(({ value }) => value !== 'usage'),
            valueText,
          ),
          { maxLength: 4 },
        ),
        after: fc.array(
          memberOf(
            stringText.filter(({ value }) => value !== 'usage'),
            valueText,
          ),
          { maxLength: 4 },
        ),
        usageKey: memberOf(keySpelling('usage'), fc.constant('')),
        spaces: fc.tuple(space, space),
        cuts: fc.array(fc.nat(), { maxLength: 6 }),
        type: fc.constantFrom('application/json', 'application/json; charset=utf-8'),
      });
      await fc.assert(
        fc.asyncProperty(responses, async ({ protocol, before, after, usageKey, spaces, cuts, type }) => {
          const member = { ...usageKey, value: usage[protocol] };
          const text = spaces[0] + objectText([...before, member, ...after]) + spaces[1];
          gateway.provider.respond = inPieces(Buffer.from(text), cuts, type);
          const isChat = protocol === 'chat';
          const response = await call(
            gateway.url + (isChat ? CHAT : MESSAGES),
            own.key,
            `{"model":"test-both","messages":[]}`,
          );
          assert.equal(response.status, 200, response.text);
          assert.equal(response.text, text);
          assert.equal(response.headers['content-type'], type);
          assert.equal(response.headers['content-length'], String(Buffer.byteLength(text)));
          runs++;
        }),
        { numRuns: propertyRuns(80) },
      );
      await assertSpent(own, BigInt(runs) * costNano({ input: 11, output: 7 }));
    });
  });

  describe('streams', () => {
    test('any chat stream comes back unchanged, however it is spelt and split, without the usage chunk that its client did not ask for', async () => {
      const own = await gateway.createAccount();
      let runs = 0;
      const streams = fc.record({
        asksForUsage: fc.boolean(),
        events: fc.array(fc.oneof({ weight: 3, arbitrary: chatChunk }, otherEvent), { maxLength: 8 }),
        afterUsage: fc.array(otherEvent, { maxLength: 2 }),
        tail: fc.constantFrom('', ': bye\n\n', '\n\n'),
        lineEnd: lineEnds,
        isUnfinished: fc.boolean(),
        cuts: streamCuts,
      });
      await fc.assert(
        fc.asyncProperty(streams, async ({ asksForUsage, events, afterUsage, tail, lineEnd, isUnfinished, cuts }) => {
          const usageChunk = `data: {"id":"x","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}${lineEnd}${lineEnd}`;
          // Some providers leave out the empty line after the last event.
          const done = isUnfinished && tail === '' ? 'data: [DONE]' : `data: [DONE]${lineEnd}${lineEnd}`;
          const stream = (usage: string): string => [...events, usage, ...afterUsage, done, tail].join('');
          gateway.provider.respond = inPieces(
            Buffer.from(stream(usageChunk)),
            cuts,
            'text/event-stream; charset=utf-8',
          );
          const options = asksForUsage ? ',"stream_options":{"include_usage":true}' : '';
          const response = await call(
            gateway.url + CHAT,
            own.key,
            `{"model":"test-both","messages":[],"stream":true${options}}`,
          );
          assert.equal(response.status, 200, response.text);
          assert.equal(response.text, stream(asksForUsage ? usageChunk : ''));
          assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
          runs++;
        }),
        { numRuns: propertyRuns(80) },
      );
      await assertSpent(own, BigInt(runs) * costNano({ input: 11, output: 7 }));
    });

    test('any messages stream comes back unchanged, however it is spelt and split', async () => {
      const own = await gateway.createAccount();
      let runs = 0;
      const streams = fc.record({
        events: fc.array(fc.oneof({ weight: 3, arbitrary: textDelta }, otherEvent), { maxLength: 8 }),
        betweenEnds: fc.array(otherEvent, { maxLength: 2 }),
        tail: fc.constantFrom('', ': bye\n\n', '\n\n'),
        lineEnd: lineEnds,
        cuts: streamCuts,
      });
      await fc.assert(
        fc.asyncProperty(streams, async ({ events, betweenEnds, tail, lineEnd, cuts }) => {
          const named = (type: string, rest: string): string =>
            `event: ${type}${lineEnd}data: {"type":"${type}"${rest}}${lineEnd}${lineEnd}`;
          const stream = [
            named('message_start', ',"message":{"usage":{"input_tokens":11,"output_tokens":1}}'),
            ...events,
            named('message_delta', ',"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}'),
            ...betweenEnds,
            named('message_stop', ''),
            tail,
          ].join('');
          gateway.provider.respond = inPieces(Buffer.from(stream), cuts, 'text/event-stream');
          const response = await call(
            gateway.url + MESSAGES,
            own.key,
            '{"model":"test-both","messages":[],"stream":true}',
          );
          assert.equal(response.status, 200, response.text);
          assert.equal(response.text, stream);
          runs++;
        }),
        { numRuns: propertyRuns(80) },
      );
      await assertSpent(own, BigInt(runs) * costNano({ input: 11, output: 7 }));
    });

    test('an event too large to be buffered comes back unchanged, and what follows it is read', async () => {
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on('warning', onWarning);
      const stream = [
        'data: {"choices":[{"delta":{"content":"before"}}]}',
        `data: {"choices":[{"delta":{"content":"${'x'.repeat(3_000_000)}"}}]}`,
        'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}',
        'data: [DONE]',
        '',
      ].join('\n\n');
      const own = await gateway.createAccount();
      gateway.provider.respond = inPieces(Buffer.from(stream), [100, 1_000_000, 2_999_999], 'text/event-stream');
      const body = '{"model":"test-both","messages":[],"stream":true,"stream_options":{"include_usage":true}}';
      assert.ok((await call(gateway.url + CHAT, own.key, body)).body.equals(Buffer.from(stream)));
      await assertSpent(own, costNano({ input: 11, output: 7 }));
      process.off('warning', onWarning);
      // Such as a warning of listeners that accumulate while the client is slower than the chunks arrive.
      assert.deepEqual(warnings, []);
    });

    test('a stream that is split between all of its bytes comes back unchanged', async () => {
      const stream = [
        'data: {"choices":[{"delta":{"content":"北京 😀"}}]}',
        'data: {"choices":[],\r\ndata: "usage":{"prompt_tokens":11,"completion_tokens":7}}',
        'data: [DONE]',
        '',
      ].join('\r\n\r\n');
      const own = await gateway.createAccount();
      const everywhere = Array.from(Buffer.from(stream).keys());
      gateway.provider.respond = inPieces(Buffer.from(stream), everywhere, 'text/event-stream');
      const body = '{"model":"test-both","messages":[],"stream":true,"stream_options":{"include_usage":true}}';
      assert.equal((await call(gateway.url + CHAT, own.key, body)).text, stream);
      await assertSpent(own, costNano({ input: 11, output: 7 }));
    });
  });
});

/** Offsets modulo the length, or between the two bytes of every CRLF and wherever else a CR stands. */
type Cuts = readonly number[] | 'behind every CR';

/** Responses with these bytes, split at the given offsets. */
function inPieces(bytes: Buffer, cuts: Cuts, contentType: string): Respond {
  const wanted =
    cuts === 'behind every CR'
      ? [...bytes.keys()].filter((at) => bytes[at - 1] === 0x0d)
      : cuts.map((cut) => cut % bytes.length);
  const places = [...new Set(wanted), bytes.length].sort((left, right) => left - right);
  return (_request, response) => {
    response.writeHead(200, { 'content-type': contentType });
    let start = 0;
    for (const end of places) {
      if (end > start) response.write(bytes.subarray(start, end));
      start = end;
    }
    response.end();
  };
}

const streamCuts: fc.Arbitrary<Cuts> = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.nat(), { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constant('behind every CR' as const) },
);

const lineEnds = fc.constantFrom('\n', '\r\n', '\r');

/** Texts that look like what the gateway searches for, as a model may write them. */
const trickyText = fc
  .constantFrom(
    '[DONE]',
    'data: [DONE]\n\n',
    '"usage":{"prompt_tokens":1,"completion_tokens":1}',
    '"error": 1',
    'message_stop',
  )
  .map((text) => JSON.stringify(text));

const spokenText = fc.oneof(
  stringText.map(({ text }) => text),
  trickyText,
);

const chatChunk = fc
  .tuple(spokenText, lineEnds, fc.constantFrom('', '"usage":null,', '"usage" : null ,'), space)
  .map(
    ([text, lineEnd, usage, gap]) =>
      `data: {${usage}"choices":[{"index":0,"delta":{"content":${gap.replace(/[\r\n]/g, '')}${text}},"finish_reason":null}]}${lineEnd}${lineEnd}`,
  );

const textDelta = fc
  .tuple(spokenText, lineEnds)
  .map(
    ([text, lineEnd]) =>
      `event: content_block_delta${lineEnd}data: {"type":"content_block_delta","delta":{"type":"text_delta","text":${text}}}${lineEnd}${lineEnd}`,
  );

/** Comments, pings, several data lines, fields of the format that are never used, and data that is no JSON. */
const otherEvent = fc
  .tuple(
    fc.constantFrom(
      [': keep-alive'],
      [':'],
      ['event: ping', 'data: {"type": "ping"}'],
      ['id: 7', 'retry: 1000', 'data: {"x":', 'data: 1}'],
      ['data'],
      ['data:no space, no JSON'],
      ['unknown: field', 'data: {"type":"unknown_event","n":1e400}'],
    ),
    lineEnds,
  )
  .map(([lines, lineEnd]) => lines.map((line) => line + lineEnd).join('') + lineEnd);
