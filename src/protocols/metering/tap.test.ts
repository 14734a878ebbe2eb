import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import { readChatStream } from '../chat/stream.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { readResponsesStream } from '../responses/stream.ts';
import type { StreamReading } from './stream-reading.ts';
import { StreamTap } from './tap.ts';
import { noUsage } from './usage-facts.ts';

interface Outcome {
  readonly forwarded: string;
  readonly finished: string;
  /** The share of `finished` in which the provider reports a failure. */
  readonly failures: string;
  readonly tap: StreamTap;
}

function feed(reading: StreamReading, ...texts: readonly string[]): Outcome {
  const outcome = { forwarded: '', finished: '', failures: '' };
  const forward = (bytes: Buffer): void => {
    assert.equal(outcome.finished, '', 'nothing may be forwarded after the terminal event');
    outcome.forwarded += bytes;
  };
  const tap = new StreamTap(reading, {
    forward,
    forwardError: forward,
    finishError: (event) => {
      assert.notEqual(outcome.finished, '', 'no stream of these protocols ends with an error');
      outcome.failures += event;
      outcome.finished += event;
    },
    finish: (bytes) => {
      outcome.finished += bytes;
    },
  });
  for (const text of texts) tap.push(Buffer.from(text));
  tap.end();
  return { ...outcome, tap };
}

describe('stream tap', () => {
  const terminal = 'data: [DONE]\n\n';
  const say = (content: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const failure = 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n';
  const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
  const chat = () => readChatStream({ dropsUsageChunk: true, choices: 1 });

  it('withholds the terminal event, and delivers nothing after it but comments and further ends', () => {
    const giant = `data: {"content":"${'x'.repeat(EVENT_BYTES_MAX)}"}\n\n`;
    const late = say('free of charge');
    const parts = [terminal + failure + late, ': late\n\n', giant, late, terminal, late.trimEnd()];
    const { forwarded, finished, failures, tap } = feed(chat(), say('a'), ...parts);
    assert.equal(forwarded, say('a'));
    assert.equal(failures, '');
    assert.equal(finished, `${terminal}: late\n\n${terminal}`);
    assert.equal(tap.hasError, false);
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens: 1, source: 'estimated' });
  });

  it('accepts usage after the end once, and delivers neither it nor other events of the same chunk', () => {
    const used = (completion: number) =>
      `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 7, completion_tokens: completion } })}\n\n`;
    const { finished, tap } = feed(chat(), say('a'), finish, terminal, used(2) + used(900) + say('b'));
    assert.equal(finished, terminal);
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 7, outputTokens: 2, source: 'observed' });
  });

  it('withholds a partial event at the end, and relays one that lacks only its empty line', () => {
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
      const { forwarded, finished, tap } = feed(chat(), say('abcd'), rest);
      assert.equal(forwarded, say('abcd'), rest);
      assert.equal(finished, '', rest);
      assert.equal(tap.hasError, false, rest);
      assert.equal(tap.isBetweenEvents, true, rest);
      assert.deepEqual(
        tap.usage.facts(10),
        { ...noUsage, inputTokens: 10, outputTokens: 1, source: 'estimated' },
        rest,
      );
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
      const { forwarded, tap } = feed(chat(), say('abcd'), rest);
      assert.equal(forwarded, say('abcd') + rest);
      assert.equal(tap.isBetweenEvents, false, rest);
    }
    for (const rest of ['data: [DONE]', 'data:[DONE]\n', 'event: x\rdata: [DONE]\r']) {
      const { finished, tap } = feed(chat(), say('abcd'), rest);
      assert.equal(finished, rest);
      assert.equal(tap.isComplete(false), true);
    }
  });

  it('charges nothing for a partial event, and does not treat a stream that ends in one as complete', () => {
    const half = say('twelve bytes').slice(0, -6);
    assert.equal(feed(chat(), ': ping\n\n', half).tap.usage.facts(10), null);
    assert.equal(feed(chat(), say('a'), finish, half).tap.isComplete(true), false);
    assert.equal(feed(chat(), say('a'), finish, half.slice(0, 3)).tap.isComplete(true), true);
  });

  it('relays an empty stream as nothing', () => {
    const { forwarded, finished, tap } = feed(chat());
    assert.equal(forwarded + finished, '');
    assert.equal(tap.usage.facts(10), null);
    assert.equal(tap.isComplete(true), false);
  });

  it('never forwards an empty chunk', () => {
    const pieces: number[] = [];
    const tap = new StreamTap(chat(), {
      forward: (bytes) => pieces.push(bytes.length),
      forwardError: () => assert.fail('there is no error'),
      finishError: () => assert.fail('there is no error'),
      finish: (bytes) => pieces.push(bytes.length),
    });
    const usageChunk = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\r\n\r';
    for (const text of [usageChunk, '\n', usageChunk, '\ndata: [DONE]\r\n\r', '\n']) tap.push(Buffer.from(text));
    assert.deepEqual(pieces, [15, 1]);
  });

  it('charges nothing for a stream of comments, however long', () => {
    const { forwarded, tap } = feed(chat(), ': ping\n\n', ': data: x\n\n', 'event: e\n\n');
    assert.equal(forwarded, ': ping\n\n: data: x\n\nevent: e\n\n');
    assert.equal(tap.usage.facts(10), null);
    assert.equal(feed(chat(), ': ping\n\n'.repeat(20_000)).tap.usage.facts(10), null);
  });

  it('charges nothing for a stream with nothing but an error', () => {
    const { forwarded, tap } = feed(chat(), ': ping\n\n', failure);
    assert.equal(forwarded, `: ping\n\n${failure}`);
    assert.equal(tap.hasError, true);
    assert.equal(tap.usage.facts(10), null);
    assert.equal(tap.isComplete(true), false);
  });

  it('charges what was relayed before an error', () => {
    const { tap } = feed(chat(), say('twelve bytes'), failure);
    assert.equal(tap.isComplete(true), false);
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens: 3, source: 'estimated' });
  });

  it('estimates a stream without usage by the size of the request and of the relayed text', () => {
    const { tap } = feed(chat(), say('a'.repeat(9)), say('你好'), terminal);
    assert.equal(tap.isComplete(false), true);
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens: 4, source: 'estimated' });
  });

  it('estimates no output if only the beginning of a response arrived', () => {
    const { tap } = feed(chat(), say(''));
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, source: 'estimated' });
  });

  it('forwards empty lines at the beginning of a stream', () => {
    for (const lines of ['\n', '\r\n\n', '\r\r']) {
      const { forwarded, finished } = feed(chat(), lines, say('a'), terminal);
      assert.deepEqual([forwarded, finished], [lines + say('a'), terminal]);
    }
  });

  it('counts the text of an event that is too large to be buffered, and nothing else of it', () => {
    const text = 'x'.repeat(EVENT_BYTES_MAX + 8);
    const large = `data: {"image":"${text}","choices":[{"delta":{"content":"${text}"}}]}\n\n`;
    const cut = Math.floor(large.length / 2);
    for (const parts of [[large], [large.slice(0, cut), large.slice(cut)], [large.slice(0, -90), large.slice(-90)]]) {
      const { tap } = feed(chat(), ...parts, say('abcd'));
      const outputTokens = text.length / 4 + 1;
      assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens, source: 'estimated' });
    }
  });

  it('does not count a large event as text of an earlier one that was broken off', () => {
    const broken = `data: {"choices":[{"delta":{"content":"${'x'.repeat(EVENT_BYTES_MAX)}`;
    const other = `data: ${'y'.repeat(EVENT_BYTES_MAX)}`;
    const { tap } = feed(chat(), broken, '\n\n', other, '\n\n');
    const outputTokens = EVENT_BYTES_MAX / 4;
    assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens, source: 'estimated' });
  });

  it('counts no text after the end, in the same chunk or later', () => {
    for (const parts of [[say('abcd') + terminal + say('efgh')], [say('abcd'), terminal, say('efgh')]]) {
      const { tap } = feed(chat(), ...parts);
      assert.deepEqual(tap.usage.facts(10), { ...noUsage, inputTokens: 10, outputTokens: 1, source: 'estimated' });
    }
  });

  it('keeps the input usage of a messages stream that breaks off, and estimates its output', () => {
    const start = (output: number): string =>
      `data: ${JSON.stringify({ type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 6, output_tokens: output } } })}\n\n`;
    const delta = 'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"twelve bytes"}}\n\n';
    const facts = { ...noUsage, inputTokens: 5, cachedInputTokens: 6, source: 'estimated' };
    assert.deepEqual(feed(readMessagesStream(), start(1), delta).tap.usage.facts(99), { ...facts, outputTokens: 3 });
    assert.deepEqual(feed(readMessagesStream(), start(8), delta).tap.usage.facts(99), { ...facts, outputTokens: 8 });
    assert.deepEqual(feed(readMessagesStream(), delta).tap.usage.facts(99), {
      ...noUsage,
      inputTokens: 99,
      outputTokens: 3,
      source: 'estimated',
    });
  });

  it('treats a stream without a terminal event as complete only if that is allowed and it ended cleanly', () => {
    const { tap } = feed(chat(), say('a'), finish);
    assert.equal(tap.isComplete(true), true);
    assert.equal(tap.isComplete(false), false);
    assert.equal(feed(chat(), say('a')).tap.isComplete(true), false);
    assert.equal(feed(chat(), say('a'), finish, failure).tap.isComplete(true), false);
  });
});

describe('final usage', () => {
  const output = { forward() {}, forwardError() {}, finish() {}, finishError() {} };
  const event = (type: string, rest: object): Buffer => Buffer.from(`data: ${JSON.stringify({ type, ...rest })}\n\n`);
  const end = (type: string, output_tokens: number): Buffer => {
    const usage = { input_tokens: 3, output_tokens, total_tokens: 3 + output_tokens };
    return event(type, { response: { id: 'resp_1', status: 'completed', output: [], usage } });
  };

  it('requires output if there is text; greater figures of a second end count', () => {
    const tap = new StreamTap(readResponsesStream(), output);
    tap.push(event('response.output_text.delta', { delta: 'Hello' }));
    tap.push(end('response.incomplete', 0));
    assert.equal(tap.usage.isFinal, false);
    tap.push(end('response.completed', 5));
    assert.equal(tap.usage.isFinal, true);
    assert.equal(tap.usage.facts(0)?.outputTokens, 5);
  });

  it('does not require output without text', () => {
    const tap = new StreamTap(readResponsesStream(), output);
    tap.push(end('response.completed', 0));
    assert.equal(tap.usage.isFinal, true);
  });
});
