import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { noUsage, type Usage } from '../metering/usage-facts.ts';
import { WrittenText } from '../metering/written-text.ts';
import { readMessagesStream } from './stream.ts';

const facts = (inputTokens: number, outputTokens: number): Usage => ({ ...noUsage, inputTokens, outputTokens });

function eventOf(type: string, rest: object = {}): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
}

const start = (usage: unknown) => eventOf('message_start', { message: { id: 'msg_1', usage } });
const delta = (usage: unknown) => eventOf('message_delta', { delta: { stop_reason: 'end_turn' }, usage });

/** Reads events like the tap, only if they matter. */
function read(reading: StreamReading, ...events: readonly Buffer[]): (EventMeaning | 'unread')[] {
  return events.map((event) => (reading.matters(event) ? reading.read(event) : 'unread'));
}

describe('messages stream', () => {
  it('counts calls that only a provider can make, and others if the request offers provider tools, however events are grouped', () => {
    const named = (type: string, name: string) =>
      eventOf('content_block_start', { index: 1, content_block: { type, id: 'a', name, input: {} } });
    const provisional = start({ input_tokens: 41, output_tokens: 23 });
    for (const [use, offersTools, webSearches] of [
      [named('server_tool_use', 'web_search'), true, 1],
      [named('server_tool_use', 'web_search'), false, 1],
      [named('tool_use', '$web_search'), true, 1],
      [named('tool_use', '$web_search'), false, 0],
    ] as const) {
      const apart = readMessagesStream(false, offersTools);
      read(apart, use, provisional);
      const together = readMessagesStream(false, offersTools);
      assert.equal(together.matters(Buffer.concat([use, provisional])), true);
      for (const event of [use, provisional]) together.read(event);
      for (const reading of [apart, together]) assert.equal(reading.partialUsage()?.webSearches, webSearches);
    }
  });

  it('accepts usage that is only in message_stop', () => {
    const usage = { input_tokens: 41, output_tokens: 23 };
    for (const end of [{ usage }, { message: { usage } }]) {
      const reading = readMessagesStream();
      read(reading, start(null), eventOf('message_stop', end));
      assert.deepEqual(reading.usage(), facts(41, 23));
    }
  });

  it('does not parse content and pings', () => {
    const reading = readMessagesStream();
    const events = [
      eventOf('ping'),
      eventOf('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      eventOf('content_block_delta', {
        index: 0,
        delta: { type: 'text_delta', text: 'say "usage" "error" "message_stop"' },
      }),
      Buffer.from(': comment\n\n'),
    ];
    assert.deepEqual(
      read(reading, ...events),
      events.map(() => 'unread'),
    );
  });

  it('detects an end of the output at the end of a block and at message_delta', () => {
    for (const end of [eventOf('content_block_stop', { index: 0 }), delta({ output_tokens: 3 })]) {
      const reading = readMessagesStream();
      const text = 'say {"type":"content_block_stop"}';
      read(
        reading,
        start({ input_tokens: 9 }),
        eventOf('content_block_delta', { delta: { type: 'text_delta', text } }),
      );
      assert.equal(reading.hasOutputEnd, false);
      assert.deepEqual(read(reading, end), ['pass']);
      assert.equal(reading.hasOutputEnd, true);
    }
  });

  it('takes output from message_delta and input from message_start', () => {
    const reading = readMessagesStream();
    assert.deepEqual(read(reading, start({ input_tokens: 9, output_tokens: 1 }), delta({ output_tokens: 30 })), [
      'pass',
      'pass',
    ]);
    assert.deepEqual(reading.usage(), facts(9, 30));
  });

  it('uses the maximum figures, since figures are cumulative', () => {
    const reading = readMessagesStream();
    read(reading, start({ input_tokens: 2_679, output_tokens: 3 }), delta({ output_tokens: 10 }));
    read(reading, delta({ input_tokens: 10_682, output_tokens: 510, cache_read_input_tokens: null }));
    assert.deepEqual(reading.usage(), facts(10_682, 510));
  });

  it('does not require figures in message_start', () => {
    for (const first of [start(null), start(undefined), eventOf('message_start', { message: null, x: 'usage' })]) {
      const reading = readMessagesStream();
      read(reading, first, delta({ input_tokens: 9, output_tokens: 30 }));
      assert.deepEqual(reading.usage(), facts(9, 30));
    }
  });

  it('ignores the provisional output in message_start', () => {
    const reading = readMessagesStream();
    read(reading, start({ input_tokens: 9, output_tokens: 1 }));
    assert.equal(reading.usage(), null);
    assert.deepEqual(reading.partialUsage(), facts(9, 1));
  });

  it('has no final usage after a message_delta without output', () => {
    for (const without of [
      delta(undefined),
      delta(null),
      delta([]),
      delta({}),
      delta({ output_tokens: null, input_tokens: 9 }),
    ]) {
      const reading = readMessagesStream();
      assert.deepEqual(read(reading, start({ input_tokens: 9, output_tokens: 1 }), without), ['pass', 'pass']);
      assert.equal(reading.usage(), null, without.toString());
      assert.deepEqual(reading.partialUsage(), facts(9, 1));
    }
  });

  it('keeps the final output if a later message_delta omits it', () => {
    const reading = readMessagesStream();
    read(
      reading,
      start({ input_tokens: 9, output_tokens: 1 }),
      delta({ output_tokens: 30 }),
      delta({ input_tokens: 12 }),
    );
    assert.deepEqual(reading.usage(), facts(12, 30));
  });

  it('has no final usage if the output is unreadable, but keeps readable figures', () => {
    const reading = readMessagesStream();
    read(reading, start({ input_tokens: 9, output_tokens: 1 }), delta({ output_tokens: -3 }));
    assert.equal(reading.usage(), null);
    assert.deepEqual(reading.partialUsage(), facts(9, 1));
  });

  it('has no partial usage before any figure', () => {
    assert.equal(readMessagesStream().partialUsage(), null);
  });

  it('ends with message_stop, but not with text that contains it', () => {
    const reading = readMessagesStream();
    assert.deepEqual(read(reading, eventOf('message_stop')), ['done']);
    assert.deepEqual(read(reading, Buffer.from('data: {"type" : "message_stop"}')), ['done']);
    for (const mention of [
      eventOf('content_block_start', { content_block: { type: 'message_stop' } }),
      Buffer.from('event: message_stop\n\n'),
      Buffer.from(': "message_stop"\n\n'),
      Buffer.from('data: "message_stop"\n\n'),
      Buffer.from('data: {"type":"message_stop"\n\n'),
    ]) {
      assert.notEqual(read(reading, mention)[0], 'done', mention.toString());
    }
  });

  it('treats an error event as a failure', () => {
    assert.deepEqual(
      read(readMessagesStream(), eventOf('error', { error: { type: 'overloaded_error', message: 'x' } })),
      ['error'],
    );
  });

  it('treats an event named error as a failure, whatever its data', () => {
    for (const text of [
      'event: error\ndata: {"error":{"message":"overloaded"}}\n\n',
      'event:error\r\ndata: {"message":"overloaded"}\r\n\r\n',
      'event: error\ndata: upstream.example is down\n\n',
    ]) {
      assert.deepEqual(read(readMessagesStream(), Buffer.from(text)), ['error'], text);
    }
    for (const text of ['event: error\n\n', 'event: errors\ndata: {"type":"x"}\n\n', ': event: error\ndata: {}\n\n']) {
      assert.notDeepEqual(read(readMessagesStream(), Buffer.from(text)), ['error'], text);
    }
  });

  it('never ends without message_stop', () => {
    const reading = readMessagesStream();
    read(reading, start({ input_tokens: 9, output_tokens: 1 }), delta({ output_tokens: 30 }));
    assert.equal(reading.canEndHere, false);
  });

  it('counts text, tool input, and the larger of visible and encrypted thinking', () => {
    const sizeOf = (thinking: string, signature: string): number => {
      const text = new WrittenText(readMessagesStream().written!);
      text.add(eventOf('content_block_start', { content_block: { type: 'text', text: '' } }));
      text.add(eventOf('content_block_delta', { delta: { type: 'text_delta', text: 'a' } }));
      text.add(eventOf('content_block_delta', { delta: { type: 'input_json_delta', partial_json: 'bb' } }));
      text.add(eventOf('content_block_delta', { delta: { type: 'thinking_delta', thinking } }));
      text.add(eventOf('content_block_delta', { delta: { type: 'signature_delta', signature } }));
      return text.sizeBytes;
    };
    assert.equal(sizeOf('cccccccc', 'dddd'), 3 + 8);
    assert.equal(sizeOf('', 'd'.repeat(400)), 3 + 300);
  });
});

describe('provider searches in a messages stream', () => {
  const block = (of: object) => eventOf('content_block_start', { index: 0, content_block: of });
  const call = (id: string, name = 'web_search') => block({ type: 'server_tool_use', id, name, input: {} });
  const result = (id: string, content: unknown = []) =>
    block({ type: 'web_search_tool_result', tool_use_id: id, content });
  const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };

  function searchesOf(...events: readonly Buffer[]): { partial: number; final: number | undefined } {
    const reading = readMessagesStream(false, true);
    read(reading, ...events);
    return { partial: reading.partialUsage()!.webSearches, final: reading.usage()?.webSearches };
  }

  it('count by calls and results if the usage does not count them', () => {
    const begun = start({ input_tokens: 3, output_tokens: 1, server_tool_use: { web_search_requests: 0 } });
    const shown = [begun, call('a'), result('a'), call('b'), call('c'), result('c', error)];
    assert.deepEqual(searchesOf(...shown), { partial: 2, final: undefined });
    assert.deepEqual(searchesOf(...shown, delta({ output_tokens: 9 })), { partial: 2, final: 2 });
    assert.equal(searchesOf(...shown, eventOf('message_stop'), call('d')).partial, 2);
  });

  it('count as reported at the end of the stream, if they are', () => {
    const begun = start({ input_tokens: 3, output_tokens: 1 });
    const end = (web_search_requests: number) => delta({ output_tokens: 9, server_tool_use: { web_search_requests } });
    assert.equal(searchesOf(begun, call('a'), result('a'), end(0)).final, 0);
    assert.equal(searchesOf(begun, call('a'), result('a'), end(4)).final, 4);
  });

  it('exclude calls of client tools and code execution', () => {
    const begun = start({ input_tokens: 3, output_tokens: 1 });
    const own = block({ type: 'tool_use', id: 'a', name: 'web_search', input: {} });
    assert.equal(searchesOf(begun, own, call('b', 'bash_code_execution')).partial, 0);
    assert.equal(searchesOf(begun, block({ type: 'tool_use', id: 'c', name: '$web_search' })).partial, 1);
  });
});
