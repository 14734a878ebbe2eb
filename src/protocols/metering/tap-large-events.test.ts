import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { cutOffsets } from '../../../test/support/scope.ts';
import {
  chunksOf,
  cutAt,
  outOf,
  type Protocol,
  type RecordedStream,
  recordedStreams,
  relay,
} from '../../../test/support/streams.ts';
import { EVENT_BYTES_MAX, NEEDED_EVENT_BYTES_MAX } from '../../lib/sse/sse.ts';
import { StreamTap } from './tap.ts';

const MB = 1_000_000;
const CHUNK_BYTES = 65_536;

/** Text that is hard to measure: escaped quotes and backslashes, characters of two to four bytes, keys within text. */
const TEXT = 'ä你😀 say \\"content\\":\\"no\\", \\\\ and \\u00e9 ';
const BASE64 = 'iVBORw0KGgo+/AAA';

/** An event of this protocol in which a text of a given size is the only counted member. */
const largeEvents: Readonly<Record<Protocol, (text: string) => string>> = {
  chat: (text) => `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}],"usage":null}\n\n`,
  messages: (text) =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text" : "${text}"}}\n\n`,
  responses: (text) =>
    `event: response.output_text.delta\ndata: {"type":"response.output_text.delta",\ndata: "delta":\ndata: "${text}"}\n\n`,
  images: (text) =>
    `event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image","b64_json":"${text}"}\n\n`,
};

function stream(name: string): RecordedStream {
  return recordedStreams.find((recorded) => recorded.name === name)!;
}

const streams = [
  stream('chat-openai-text'),
  stream('messages-thinking-tools'),
  stream('responses-reasoning-tools'),
  stream('images-generation'),
  stream('chat-without-usage'),
  stream('messages-error'),
];

/** Text of a given size, cut between two repetitions. */
function textOf(protocol: Protocol, bytes: number): string {
  const unit = protocol === 'images' ? BASE64 : TEXT;
  return unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)));
}

/** Chunks of up to 64 KiB, as received from a socket, with sizes that depend on the seed. */
function anyChunks(bytes: Buffer, seed: number): Buffer[] {
  const chunks: Buffer[] = [];
  let random = seed;
  for (let at = 0; at < bytes.length; ) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const size = 1 + (random >>> 16);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function assertLarge(recorded: RecordedStream, size: number, seed: number): void {
  const { protocol, events, record, dropped, failing } = recorded;
  const text = textOf(protocol, size);
  const large = largeEvents[protocol](text);
  // Before the last but one event, which may be removed.
  const place = events.length - 2;
  const withLarge = events.toSpliced(place, 0, large);
  const end = (record ?? failing!) + 1;
  const forwarded = withLarge.filter((_, i) => i !== (dropped ?? -2) + 1 && (record === null || i < end)).join('');
  const whole = Buffer.from(withLarge.join(''));
  const relayed = relay(recorded.reading(), anyChunks(whole, seed));
  assert.ok(relayed.forwarded.equals(Buffer.from(forwarded)), `seed ${seed}`);
  const streamed = protocol === 'images' ? 0 : Buffer.byteLength(JSON.parse(`"${text}"`));
  // Both parts are rounded up to whole tokens.
  const tokens = relayed.outcome.textTokens - recorded.outcome.textTokens - streamed / 4;
  assert.ok(tokens > -1 && tokens < 1, `${tokens} tokens off, seed ${seed}`);
  const { usage } = recorded.outcome;
  const outputTokens = usage?.source === 'estimated' ? relayed.outcome.textTokens : usage?.outputTokens;
  const expected = usage === null ? null : { ...usage, outputTokens };
  assert.deepEqual(relayed.outcome, { ...recorded.outcome, textTokens: relayed.outcome.textTokens, usage: expected });
}

describe('stream tap with large events', () => {
  for (const [size, numRuns] of [
    [MB, 2],
    [3 * MB, 1],
  ] as const) {
    for (const recorded of streams) {
      it(`relays and measures ${recorded.name} the same with an event of ${size / MB} MB in it`, () => {
        fc.assert(
          fc.property(fc.nat(), (seed) => assertLarge(recorded, size, seed)),
          { numRuns },
        );
      });
    }
  }

  it('reads a final event that repeats an output of 3 MB, however it is cut', () => {
    const text = textOf('images', 3 * MB);
    const result = (event: string): string =>
      event.replace(/"(?:result|b64_json)":"[^"]*"/, (was) => `${was.slice(0, -1)}${text}"`);
    for (const recorded of [stream('responses-image'), stream('images-generation'), stream('images-edit-two')]) {
      const events = recorded.events.map((event, i) => (i === recorded.record ? result(event) : event));
      const whole = Buffer.from(events.join(''));
      assert.ok(whole.length > 3 * MB);
      const start = Buffer.byteLength(events.slice(0, recorded.record!).join(''));
      const relayed = relay(recorded.reading(), anyChunks(whole, 7));
      assert.ok(relayed.finished.equals(whole.subarray(start)));
      assert.ok(relayed.forwarded.equals(whole.subarray(0, start)));
      assert.deepEqual(relayed.outcome, recorded.outcome);
    }
  });

  it('counts the text at the edges of a large event the same, however it is cut', () => {
    const { chat } = largeEvents;
    const large = `${chat(`${TEXT.repeat(3)}${'x'.repeat(EVENT_BYTES_MAX)}`).trimEnd()}\ndata: ,{"content" \ndata: : "${TEXT}"}`;
    const bytes = Buffer.from(`${large}\n\n`);
    const counted = (chunks: readonly Buffer[]): number =>
      relay(stream('chat-without-usage').reading(), chunks).outcome.textTokens;
    const inOnePiece = counted([bytes]);
    const behind = bytes.lastIndexOf('"finish_reason"') - 4;
    const edge = bytes.subarray(behind - 9);
    for (const at of cutOffsets(edge.length)) {
      assert.equal(counted([bytes.subarray(0, behind - 9), ...cutAt(edge, [at])]), inOnePiece, `cut at ${at}`);
    }
  });
});

describe('the memory of a stream tap', () => {
  /** Maximum bytes buffered of an event that never ends, and the number of bytes forwarded. */
  function holdsOf(recorded: RecordedStream, beginning: string, bytes: number): { held: number; out: number } {
    const chunks = [Buffer.from(beginning), ...chunksOf(Buffer.alloc(bytes, 'x'), CHUNK_BYTES)];
    let pushed = 0;
    let out = 0;
    let held = 0;
    const note = (piece: Buffer): void => {
      out += piece.length;
    };
    const tap = new StreamTap(recorded.reading(), {
      forward: note,
      forwardError: note,
      finish: note,
      finishError: note,
    });
    for (const chunk of chunks) {
      tap.push(chunk);
      pushed += chunk.length;
      held = Math.max(held, pushed - out);
    }
    return { held, out };
  }

  it('is limited to one event, and to 1 MB of an event that need not be parsed', () => {
    for (const [name, beginning] of [
      ['chat-openai-text', 'data: {"choices":[{"delta":{"content":"'],
      ['messages-thinking-tools', 'event: message_delta\ndata: {"type":"message_delta","x":"'],
      ['responses-image', 'event: response.output_item.done\ndata: {"type":"response.output_item.done","x":"'],
      ['images-generation', 'event: image_generation.partial_image\ndata: {"b64_json":"'],
    ] as const) {
      const { held, out } = holdsOf(stream(name), beginning, 4 * EVENT_BYTES_MAX);
      assert.ok(held <= EVENT_BYTES_MAX, `${name} holds ${held}`);
      assert.equal(out, beginning.length + 4 * EVENT_BYTES_MAX, name);
    }
  });

  it('is limited to 64 MiB of an event that must be parsed and never ends', () => {
    for (const [name, beginning] of [
      ['responses-image', 'event: response.completed\ndata: {"type":"response.completed","x":"'],
      ['images-generation', 'event: image_generation.completed\ndata: {"b64_json":"'],
    ] as const) {
      const { held, out } = holdsOf(stream(name), beginning, NEEDED_EVENT_BYTES_MAX + CHUNK_BYTES);
      assert.ok(held > EVENT_BYTES_MAX && held <= NEEDED_EVENT_BYTES_MAX, `${name} holds ${held}`);
      assert.equal(out, beginning.length + NEEDED_EVENT_BYTES_MAX + CHUNK_BYTES, name);
    }
  });

  it('does not exceed the bytes received, even if they arrive one by one', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const weight = (): number => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const event = Buffer.alloc(EVENT_BYTES_MAX, 'x');
    event.write('data: "');
    let out = 0;
    const note = (piece: Buffer): void => {
      out += piece.length;
    };
    const tap = new StreamTap(stream('chat-openai-text').reading(), {
      forward: note,
      forwardError: note,
      finish: note,
      finishError: note,
    });
    const before = weight();
    for (let at = 0; at < event.length; at++) tap.push(event.subarray(at, at + 1));
    const grown = weight() - before;
    assert.equal(out, 0);
    // A buffer for each byte would take over 100 MiB.
    assert.ok(grown < 8 * EVENT_BYTES_MAX, `${grown} bytes for an event of ${EVENT_BYTES_MAX}`);
    tap.push(Buffer.from('\n\n'));
    assert.equal(out, event.length + 2);
  });

  it('is not forwarded if the stream ends within an event, except for chunks already sent', () => {
    for (const [size, isOut] of [
      [EVENT_BYTES_MAX / 2, false],
      [2 * EVENT_BYTES_MAX, true],
    ] as const) {
      const half = Buffer.from(largeEvents.chat(TEXT.repeat(Math.ceil(size / TEXT.length))).slice(0, size));
      const finished = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
      const relayed = relay(stream('chat-openai-text').reading(), [
        Buffer.from(finished),
        ...chunksOf(half, CHUNK_BYTES),
      ]);
      assert.equal(relayed.forwarded.length, Buffer.byteLength(finished) + (isOut ? half.length : 0));
      assert.equal(relayed.outcome.textTokens > 0, isOut);
      // The stream may end after its finish reason, but not like this.
      assert.deepEqual(relayed.outcome.isComplete, [false, false]);
    }
  });

  it('is forwarded if only the empty line is missing, however large the event is', () => {
    const event = `event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","x":"${'x'.repeat(2 * EVENT_BYTES_MAX)}"}}`;
    const relayed = relay(stream('responses-image').reading(), chunksOf(Buffer.from(event), CHUNK_BYTES));
    assert.equal(relayed.finished.toString(), event);
    const half = relay(stream('responses-image').reading(), chunksOf(Buffer.from(event.slice(0, -1)), CHUNK_BYTES));
    assert.equal(outOf(half).length, 0);
    assert.deepEqual(half.outcome.isComplete, [false, false]);
  });
});
