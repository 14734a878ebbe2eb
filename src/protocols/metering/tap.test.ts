import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cutOffsets, propertyRuns } from '../../../test/support/scope.ts';
import { halfEventStart } from '../../../test/support/streams.ts';
import { EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import { readChatStream } from '../chat/stream.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { readResponsesStream } from '../responses/stream.ts';
import { createStreamTap, type StreamReading, type StreamTap } from './tap.ts';
import { noUsage, type UsageFacts } from './usage-facts.ts';

/** What becomes of one event of a recorded stream. */
type Fate = 'forwarded' | 'dropped' | 'finished';

interface RecordedEvent {
  readonly fate: Fate;
  readonly text: string;
}

interface Recording {
  readonly name: string;
  readonly events: readonly RecordedEvent[];
  readonly reading: () => StreamReading;
  readonly facts: UsageFacts;
}

interface Style {
  readonly name: string;
  readonly lineEnd: string;
  readonly start: string;
  readonly hasComments: boolean;
  readonly isMultiLine: boolean;
}

const styles: readonly Style[] = [
  { name: 'LF', lineEnd: '\n', start: '', hasComments: false, isMultiLine: false },
  { name: 'CRLF', lineEnd: '\r\n', start: '', hasComments: false, isMultiLine: false },
  { name: 'CR', lineEnd: '\r', start: '', hasComments: false, isMultiLine: false },
  {
    name: 'BOM, comments, CRLF, data in several lines',
    lineEnd: '\r\n',
    start: '\ufeff',
    hasComments: true,
    isMultiLine: true,
  },
  { name: 'comments, LF, data in several lines', lineEnd: '\n', start: '', hasComments: true, isMultiLine: true },
];

function renderEvent(style: Style, name: string | null, data: string | object): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data, null, style.isMultiLine ? 1 : 0);
  const lines = [
    ...(style.hasComments ? [': keep-alive'] : []),
    ...(name === null ? [] : [`event: ${name}`]),
    ...text.split('\n').map((line) => `data: ${line}`),
  ];
  return `${lines.join(style.lineEnd)}${style.lineEnd}${style.lineEnd}`;
}

function comment(style: Style): RecordedEvent[] {
  return style.hasComments ? [{ fate: 'forwarded', text: `: ping${style.lineEnd}${style.lineEnd}` }] : [];
}

function withStart(style: Style, events: readonly RecordedEvent[]): RecordedEvent[] {
  return events.map((event, i) => (i === 0 ? { ...event, text: style.start + event.text } : event));
}

const chatFacts: UsageFacts = {
  ...noUsage,
  inputTokens: 70,
  cachedInputTokens: 30,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 17,
  reasoningTokens: 5,
  source: 'observed',
};

function chatRecording(style: Style): Recording {
  const chunk = (rest: object): string =>
    renderEvent(style, null, { id: 'c1', object: 'chat.completion.chunk', model: 'm', ...rest });
  const delta = (content: string): RecordedEvent => ({
    fate: 'forwarded',
    text: chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null }),
  });
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 17,
    total_tokens: 117,
    prompt_tokens_details: { cached_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 5 },
  };
  return {
    name: `chat, ${style.name}`,
    events: withStart(style, [
      delta(''),
      delta('Hé 你好 😀'),
      ...comment(style),
      delta('say "usage": {"prompt_tokens": 1} and [DONE]'),
      { fate: 'forwarded', text: chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }) },
      { fate: 'dropped', text: chunk({ choices: [], usage }) },
      ...comment(style),
      { fate: 'finished', text: renderEvent(style, null, '[DONE]') },
    ]),
    reading: () => readChatStream({ dropsUsageChunk: true, choices: 1 }),
    facts: chatFacts,
  };
}

const messagesFacts: UsageFacts = {
  ...noUsage,
  inputTokens: 25,
  cachedInputTokens: 40,
  cacheWriteTokens: 7,
  cacheWrite1hTokens: 3,
  outputTokens: 19,
  reasoningTokens: 0,
  source: 'observed',
};

function messagesRecording(style: Style): Recording {
  const event = (type: string, rest: object = {}): RecordedEvent => ({
    fate: type === 'message_stop' ? 'finished' : 'forwarded',
    text: renderEvent(style, type, { type, ...rest }),
  });
  const delta = (text: string): RecordedEvent =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
  return {
    name: `messages, ${style.name}`,
    events: withStart(style, [
      event('message_start', {
        message: {
          id: 'msg_1',
          usage: {
            input_tokens: 25,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 10,
            cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 3 },
            output_tokens: 1,
          },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('ping'),
      delta('Hé 你好 😀'),
      ...comment(style),
      delta('say {"type":"message_stop"} and "usage"'),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12, input_tokens: null } }),
      event('message_delta', { delta: {}, usage: { output_tokens: 19, cache_read_input_tokens: 40 } }),
      event('message_stop'),
    ]),
    reading: readMessagesStream,
    facts: messagesFacts,
  };
}

const recordings = styles.flatMap((style) => [chatRecording(style), messagesRecording(style)]);

interface Outcome {
  readonly forwarded: Buffer;
  readonly finished: Buffer;
  /** The part of `finished` in which the provider reports a failure. */
  readonly failures: Buffer;
  readonly tap: StreamTap;
}

function feed(reading: StreamReading, chunks: Iterable<Buffer>): Outcome {
  const forwarded: Buffer[] = [];
  const finished: Buffer[] = [];
  const failures: Buffer[] = [];
  const forward = (bytes: Buffer): void => {
    assert.equal(finished.length, 0, 'nothing may be forwarded after the terminal event');
    forwarded.push(Buffer.from(bytes));
  };
  const tap = createStreamTap(reading, {
    forward,
    forwardError: forward,
    finishError: (event) => {
      assert.ok(finished.length > 0, 'no stream of these protocols ends with an error');
      failures.push(Buffer.from(event));
      finished.push(Buffer.from(event));
    },
    finish: (bytes) => finished.push(Buffer.from(bytes)),
  });
  for (const chunk of chunks) tap.push(chunk);
  tap.end();
  return {
    forwarded: Buffer.concat(forwarded),
    finished: Buffer.concat(finished),
    failures: Buffer.concat(failures),
    tap,
  };
}

function feedText(reading: StreamReading, ...texts: readonly string[]): Outcome {
  return feed(
    reading,
    texts.map((text) => Buffer.from(text)),
  );
}

function bytesOf(events: readonly RecordedEvent[], fate?: Fate): Buffer {
  return Buffer.from(
    events
      .filter((event) => fate === undefined || event.fate === fate)
      .map(({ text }) => text)
      .join(''),
  );
}

/** Asserts what becomes of a recording in chunks. */
function wholeOf({ events, reading, facts }: Recording): (chunks: Iterable<Buffer>, note: string) => void {
  const [forwardedAll, finishedAll] = [bytesOf(events, 'forwarded').toString(), bytesOf(events, 'finished').toString()];
  return (chunks, note) => {
    const { forwarded, finished, tap } = feed(reading(), chunks);
    assert.equal(forwarded.toString(), forwardedAll, note);
    assert.equal(finished.toString(), finishedAll, note);
    assert.deepEqual(tap.usage(999), facts, note);
    assert.equal(tap.isComplete(false), true, note);
    assert.equal(tap.hasError, false, note);
  };
}

describe('stream tap', () => {
  for (const recording of recordings) {
    const bytes = bytesOf(recording.events);
    const assertWhole = wholeOf(recording);

    it(`forwards, drops, holds back and measures the same wherever a stream is cut in two (${recording.name})`, () => {
      for (const at of cutOffsets(bytes.length)) {
        assertWhole([bytes.subarray(0, at), bytes.subarray(at)], `cut at ${at}`);
      }
    });

    it(`forwards, drops, holds back and measures the same in chunks of any size (${recording.name})`, () => {
      for (const size of [1, 2, 3, 7, 64]) {
        const count = Math.ceil(bytes.length / size);
        const chunks = Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
        assertWhole(chunks, `chunks of ${size}`);
      }
      fc.assert(
        fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), (positions) => {
          const cuts = [0, ...positions.sort((a, b) => a - b), bytes.length];
          assertWhole(
            cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end)),
            `cuts at ${cuts}`,
          );
        }),
        { numRuns: propertyRuns(100) },
      );
    });

    it(`takes a stream that breaks off before its terminal event for incomplete, wherever it breaks (${recording.name})`, () => {
      const terminalData = bytes.lastIndexOf(recording.name.startsWith('chat') ? ']' : '}');
      const dropped = bytesOf(recording.events, 'dropped');
      const dropStart = dropped.length === 0 ? bytes.length : bytes.indexOf(dropped);
      for (const end of cutOffsets(terminalData)) {
        const { forwarded, finished, tap } = feed(recording.reading(), [bytes.subarray(0, end)]);
        assert.equal(tap.isComplete(false), false, `broken off at ${end}`);
        assert.equal(finished.length, 0);
        const wholeEnd = halfEventStart(bytes.subarray(0, end));
        const [out, of] = end <= dropStart ? [forwarded, wholeEnd] : [forwarded.subarray(0, dropStart), dropStart];
        assert.ok(out.equals(bytes.subarray(0, of)), `broken off at ${end}`);
      }
    });
  }

  it('reads on behind an event that is too large to be kept, wherever that one is cut', () => {
    for (const style of styles.slice(0, 3)) {
      for (const { reading, facts, ...recording } of [chatRecording(style), messagesRecording(style)]) {
        const [first, ...others] = recording.events;
        const giant: RecordedEvent = {
          fate: 'forwarded',
          text: renderEvent(style, null, { type: 'unheard_of', padding: 'x'.repeat(EVENT_BYTES_MAX) }),
        };
        const events = [first!, giant, ...others];
        const bytes = bytesOf(events);
        const assertWhole = wholeOf({ ...recording, reading, facts, events });
        const head = first!.text.length + EVENT_BYTES_MAX + 30;
        const giantEnd = first!.text.length + giant.text.length;
        for (const at of [head, giantEnd - 4, giantEnd - 3, giantEnd - 2, giantEnd - 1, giantEnd, bytes.length]) {
          const chunks = [bytes.subarray(0, head), bytes.subarray(head, at), bytes.subarray(at)];
          assertWhole(chunks, `cut at ${at - giantEnd} from the giant's end`);
        }
      }
    }
  });

  const terminal = 'data: [DONE]\n\n';
  const say = (content: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const failure = 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n';
  const chat = () => readChatStream({ dropsUsageChunk: true, choices: 1 });

  it('holds back the terminal event, and delivers nothing behind it but comments and other ends', () => {
    const giant = `data: {"content":"${'x'.repeat(EVENT_BYTES_MAX)}"}\n\n`;
    const late = say('free of charge');
    const parts = [terminal + failure + late, ': late\n\n', giant, late, terminal, late.trimEnd()];
    const { forwarded, finished, failures, tap } = feedText(chat(), say('a'), ...parts);
    assert.equal(forwarded.toString(), say('a'));
    assert.equal(failures.length, 0);
    assert.equal(finished.toString(), `${terminal}: late\n\n${terminal}`);
    assert.equal(tap.hasError, false);
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens: 1, source: 'estimated' });
  });

  it('takes usage that comes behind the end, once, and delivers it no more than what comes with it', () => {
    const used = (completion: number) =>
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: completion } })}\n\n`;
    const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
    const { finished, tap } = feedText(chat(), say('a'), finish, terminal, used(2) + used(900) + say('b'));
    assert.equal(finished.toString(), terminal);
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 7, outputTokens: 2, source: 'observed' });
  });

  it('withholds half an event at the end, and relays one that lacks only its empty line', () => {
    const half = [
      'data',
      'data:',
      'data: {"choices":[{"delta":{"content":"half',
      'data: {"choices":[]\ndata: ',
      'data: [DON',
      'event: error\n',
      'event: error\r\ndata: {"error":{"message":"over',
      'event: error\ndata: overloaded\n',
      'event: message_stop',
      ': ping\ndata: {',
    ];
    for (const rest of half) {
      const { forwarded, finished, tap } = feedText(chat(), say('abcd'), rest);
      assert.equal(forwarded.toString(), say('abcd'), rest);
      assert.equal(finished.length, 0, rest);
      assert.equal(tap.hasError, false, rest);
      assert.equal(tap.isBetweenEvents, true, rest);
      assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens: 1, source: 'estimated' }, rest);
    }
    const whole = [
      say('').trimEnd(),
      say('').slice(0, -1),
      'data: 7',
      'data: [1]\r',
      ': ping',
      'dat',
      'id: 7\n',
      'x: y',
    ];
    for (const rest of whole) {
      const { forwarded, tap } = feedText(chat(), say('abcd'), rest);
      assert.equal(forwarded.toString(), say('abcd') + rest);
      assert.equal(tap.isBetweenEvents, false, rest);
    }
    for (const rest of ['data: [DONE]', 'data:[DONE]\n', 'event: x\rdata: [DONE]\r']) {
      const { finished, tap } = feedText(chat(), say('abcd'), rest);
      assert.equal(finished.toString(), rest);
      assert.equal(tap.isComplete(false), true);
    }
  });

  it('charges nothing for half an event, and takes no stream that ends in one for complete', () => {
    const half = say('twelve bytes').slice(0, -6);
    assert.equal(feedText(chat(), ': ping\n\n', half).tap.usage(10), null);
    const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
    assert.equal(feedText(chat(), say('a'), finish, half).tap.isComplete(true), false);
    assert.equal(feedText(chat(), say('a'), finish, half.slice(0, 3)).tap.isComplete(true), true);
  });

  it('sends an empty stream on as nothing', () => {
    const { forwarded, finished, tap } = feed(chat(), []);
    assert.equal(forwarded.length + finished.length, 0);
    assert.equal(tap.usage(10), null);
    assert.equal(tap.isComplete(true), false);
  });

  it('never forwards an empty piece', () => {
    const pieces: number[] = [];
    const tap = createStreamTap(chat(), {
      forward: (bytes) => pieces.push(bytes.length),
      forwardError: () => assert.fail('there is no error'),
      finishError: () => assert.fail('there is no error'),
      finish: (bytes) => pieces.push(bytes.length),
    });
    const usageChunk = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\r\n\r';
    for (const text of [usageChunk, '\n', usageChunk, '\ndata: [DONE]\r\n\r', '\n']) tap.push(Buffer.from(text));
    assert.deepEqual(pieces, [15, 1]);
  });

  it('charges nothing for a stream of comments, however long it lasted', () => {
    const { forwarded, tap } = feedText(chat(), ': ping\n\n', ': data: x\n\n', 'event: e\n\n');
    assert.equal(forwarded.toString(), ': ping\n\n: data: x\n\nevent: e\n\n');
    assert.equal(tap.usage(10), null);
  });

  it('charges nothing for a stream that has nothing but an error', () => {
    const { forwarded, tap } = feedText(chat(), ': ping\n\n', failure);
    assert.equal(forwarded.toString(), `: ping\n\n${failure}`);
    assert.equal(tap.hasError, true);
    assert.equal(tap.usage(10), null);
    assert.equal(tap.isComplete(true), false);
  });

  it('charges what was relayed before an error', () => {
    const { tap } = feedText(chat(), say('twelve bytes'), failure);
    assert.equal(tap.isComplete(true), false);
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens: 3, source: 'estimated' });
  });

  it('estimates a stream without usage facts by the size of the request and of the relayed text', () => {
    const { tap } = feedText(chat(), say('a'.repeat(9)), say('你好'), terminal);
    assert.equal(tap.isComplete(false), true);
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens: 4, source: 'estimated' });
  });

  it('estimates no output if nothing but the beginning of a response came', () => {
    const { tap } = feedText(chat(), say(''));
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, source: 'estimated' });
  });

  it('forwards the empty lines that a stream begins with', () => {
    for (const lines of ['\n', '\r\n\n', '\r\r']) {
      const { forwarded, finished } = feedText(chat(), lines, terminal);
      assert.deepEqual([forwarded.toString(), finished.toString()], [lines, terminal]);
    }
  });

  it('counts the text of an event that is too large to be kept, and nothing else of it', () => {
    const text = 'x'.repeat(EVENT_BYTES_MAX + 8);
    const large = `data: {"image":"${text}","choices":[{"delta":{"content":"${text}"}}]}\n\n`;
    const cut = Math.floor(large.length / 2);
    for (const parts of [[large], [large.slice(0, cut), large.slice(cut)], [large.slice(0, -90), large.slice(-90)]]) {
      const { tap } = feedText(chat(), ...parts, say('abcd'));
      const outputTokens = text.length / 4 + 1;
      assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens, source: 'estimated' });
    }
  });

  it('counts nothing of one large event as the text of another that was broken off', () => {
    const broken = `data: {"content":"${'x'.repeat(EVENT_BYTES_MAX)}`;
    const other = `data: ${'y'.repeat(EVENT_BYTES_MAX)}`;
    const { tap } = feedText(chat(), broken, '\n\n', other, '\n\n');
    const outputTokens = EVENT_BYTES_MAX / 4;
    assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens, source: 'estimated' });
  });

  it('counts no text behind the end, whether it comes with the end or after it', () => {
    for (const parts of [[say('abcd') + terminal + say('efgh')], [say('abcd'), terminal, say('efgh')]]) {
      const { tap } = feedText(chat(), ...parts);
      assert.deepEqual(tap.usage(10), { ...nothing, inputTokens: 10, outputTokens: 1, source: 'estimated' });
    }
  });

  it('charges nothing for comments, also if many come at once', () => {
    const { tap } = feedText(chat(), ': ping\n\n'.repeat(20_000));
    assert.equal(tap.usage(10), null);
  });

  it('keeps the input facts of a messages stream that was cut off, and estimates its output', () => {
    const start = (output: number): string =>
      `data: ${JSON.stringify({ type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 6, output_tokens: output } } })}\n\n`;
    const delta = 'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"twelve bytes"}}\n\n';
    const facts = { ...nothing, inputTokens: 5, cachedInputTokens: 6, source: 'estimated' };
    assert.deepEqual(feedText(readMessagesStream(), start(1), delta).tap.usage(99), { ...facts, outputTokens: 3 });
    assert.deepEqual(feedText(readMessagesStream(), start(8), delta).tap.usage(99), { ...facts, outputTokens: 8 });
    assert.deepEqual(feedText(readMessagesStream(), delta).tap.usage(99), {
      ...nothing,
      inputTokens: 99,
      outputTokens: 3,
      source: 'estimated',
    });
  });

  it('takes a stream without a terminal event for complete only if it may end and ended by itself', () => {
    const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
    const { tap } = feedText(chat(), say('a'), finish);
    assert.equal(tap.isComplete(true), true);
    assert.equal(tap.isComplete(false), false);
    assert.equal(feedText(chat(), say('a')).tap.isComplete(true), false);
    assert.equal(feedText(chat(), say('a'), finish, failure).tap.isComplete(true), false);
  });
});

const nothing = noUsage;

describe('usage that is final', () => {
  const output = { forward() {}, forwardError() {}, finish() {}, finishError() {} };
  const event = (type: string, rest: object): Buffer => Buffer.from(`data: ${JSON.stringify({ type, ...rest })}\n\n`);
  const end = (type: string, output_tokens: number): Buffer => {
    const usage = { input_tokens: 3, output_tokens, total_tokens: 3 + output_tokens };
    return event(type, { response: { id: 'resp_1', status: 'completed', output: [], usage } });
  };

  it('is not one without output behind text, and the greater figures of a second end count', () => {
    const tap = createStreamTap(readResponsesStream(), output);
    tap.push(event('response.output_text.delta', { delta: 'Hello' }));
    tap.push(end('response.incomplete', 0));
    assert.equal(tap.isUsageFinal, false);
    tap.push(end('response.completed', 5));
    assert.equal(tap.isUsageFinal, true);
    assert.equal(tap.usage(0)?.outputTokens, 5);
  });

  it('is one without output if no text came', () => {
    const tap = createStreamTap(readResponsesStream(), output);
    tap.push(end('response.completed', 0));
    assert.equal(tap.isUsageFinal, true);
  });
});
