import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { renderStream } from '../../../test/support/stream-styles.ts';
import {
  cutAt,
  halfEventStart,
  outOf,
  type Protocol,
  type RecordedStream,
  recordedStreams,
  relay,
  relayBrokenOff,
} from '../../../test/support/streams.ts';
import { eachEvent } from '../../lib/sse/sse.ts';
import { readChatStream } from '../chat/stream.ts';
import { readImagesStream } from '../images/stream.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { readResponsesStream } from '../responses/stream.ts';
import type { StreamReading } from './stream-reading.ts';

/** Readings that remove nothing: the output equals the input, up to a partial event at the end. */
const readings: Readonly<Record<Protocol, () => StreamReading>> = {
  chat: () => readChatStream({ dropsUsageChunk: false, choices: 1 }),
  messages: readMessagesStream,
  responses: readResponsesStream,
  images: () => readImagesStream({ count: 2, quality: null, size: null }, 'tokens'),
};
const protocol = fc.constantFrom<Protocol>('chat', 'messages', 'responses', 'images');
const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  return cutAt(
    bytes,
    cuts.map((share) => Math.floor(share * bytes.length)),
  );
}

/** Fragments that the readings look for. No report is complete: each lacks one of the totals. */
const piece = fc.constantFrom(
  'data: ',
  'data:',
  'data',
  'event: error',
  'event: response.completed',
  'event: image_generation.completed',
  'event: message_delta',
  ': ',
  '\ufeff',
  '[DONE]',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  'null',
  '"',
  '\\',
  '"usage"',
  '"usage":{"prompt_tokens":5,"input_tokens":5}',
  '"error":',
  '"type":',
  '"message_stop"',
  '"response.completed"',
  '"choices":[]',
  '"response":{"id":"r"}',
  '"content":"abc"',
  '"text" : "d',
  '"delta":',
  '你',
  '😀',
);
const lineEnd = fc.constantFrom('\n', '\n\n', '\r\n', '\r\n\r\n', '\r', '\r\r');
const soup = fc
  .array(fc.oneof({ arbitrary: piece, weight: 3 }, lineEnd), { maxLength: 40 })
  .map((parts) => parts.join(''));

/** Complete events, valid and invalid, in any order. */
const shuffled = fc
  .array(fc.constantFrom(...recordedStreams.flatMap((stream) => stream.events)), { maxLength: 12 })
  .map((events) => events.join(''));

interface Damage {
  readonly kind: 'flip' | 'remove' | 'repeat';
  readonly at: number;
  readonly size: number;
}
const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom('flip', 'remove', 'repeat'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  size: fc.integer({ min: 1, max: 60 }),
});

function damaged(whole: Buffer, { kind, at, size }: Damage): Buffer {
  const start = Math.floor(at * whole.length);
  const before = whole.subarray(0, start);
  const part = whole.subarray(start, start + size);
  const rest = whole.subarray(start + size);
  switch (kind) {
    case 'flip':
      return Buffer.concat([before, Buffer.from(part.map((byte) => byte ^ size)), rest]);
    case 'remove':
      return Buffer.concat([before, rest]);
    case 'repeat':
      return Buffer.concat([before, part, part, rest]);
  }
}

function assertSame(read: () => StreamReading, bytes: Buffer, cuts: readonly number[]): ReturnType<typeof relay> {
  const expected = relayBrokenOff(read, bytes);
  const { forwarded, finished } = expected.relayed;
  assert.ok(forwarded.equals(bytes.subarray(0, forwarded.length)));
  // After the end some events are omitted; the others are unchanged and in order.
  let at = forwarded.length;
  for (const event of eachEvent(finished)) {
    // The end of its last line may consist of two line ends, between which an event was omitted.
    const pieces =
      bytes.includes(event, at) || !event.toString('latin1').endsWith('\r\n') ? [event] : [event.subarray(0, -1), '\n'];
    for (const piece of pieces) {
      const found = bytes.indexOf(piece, at);
      assert.ok(found !== -1);
      at = found + piece.length;
    }
  }
  const whole = relay(read(), [bytes]);
  const parted = relay(read(), cutInto(bytes, cuts));
  for (const relayed of [whole, parted]) {
    assert.ok(outOf(relayed).equals(outOf(expected.relayed)));
    assert.deepEqual(relayed.outcome, expected.outcome);
  }
  return whole;
}

describe('stream tap with arbitrary input', () => {
  it('relays arbitrary bytes unchanged except a partial event, and reports no usage', () => {
    const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(protocol, bytes, shares, (name, garbage, cuts) => {
        const { outcome } = assertSame(readings[name], garbage, cuts);
        assert.notEqual(outcome.usage?.source, 'observed');
        assert.deepEqual(outcome.continuationKeys, []);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('relays fragments of events unchanged except a partial event, and reports no usage', () => {
    fc.assert(
      fc.property(protocol, soup, shares, (name, text, cuts) => {
        const { outcome } = assertSame(readings[name], Buffer.from(text), cuts);
        assert.notEqual(outcome.usage?.source, 'observed');
      }),
      { numRuns: propertyRuns(3000) },
    );
  });

  it('counts text without a closing quote up to the end of its line, whether or not the next event is in the same chunk', () => {
    assertSame(readings.chat, Buffer.from('"text" : "d\r\n\r\ndata: \n\n'), [0.6087]);
    assertSame(readings.messages, Buffer.from('data: {"text":"d\\\ndata: more\n\ndata: {}\n\n'), [0.3, 0.6]);
  });

  it('omits an event between a CR and an LF, which then form one line end', () => {
    const { relayed } = relayBrokenOff(readings.responses, Buffer.from('event: error\r\rdata: \n\n\n'));
    assert.equal(outOf(relayed).toString(), 'event: error\r\r\n');
    assertSame(readings.responses, Buffer.from('event: error\r\rdata: \n\n\n'), []);
  });

  it('relays and measures events of all protocols in any order the same, however they are cut', () => {
    fc.assert(
      fc.property(protocol, shuffled, shares, (name, text, cuts) => {
        assertSame(readings[name], Buffer.from(text), cuts);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('relays and measures a damaged stream the same, however it is cut', () => {
    const damages = fc.array(damage, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.constantFrom(...recordedStreams), damages, shares, (stream, all, cuts) => {
        const { whole } = renderStream(stream, { name: 'LF', lineEnds: ['\n'] });
        assertSame(readings[stream.protocol], all.reduce(damaged, whole), cuts);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it('removes nothing but usage chunks from a damaged stream', () => {
    const damages = fc.array(damage, { minLength: 1, maxLength: 4 });
    const chats = recordedStreams.filter((stream) => stream.protocol === 'chat');
    fc.assert(
      fc.property(fc.constantFrom(...chats), damages, shares, (stream: RecordedStream, all, cuts) => {
        const { whole } = renderStream(stream, { name: 'LF', lineEnds: ['\n'] });
        const broken = all.reduce(damaged, whole);
        const bytes = broken.subarray(0, halfEventStart(broken));
        const out = outOf(relay(stream.reading(), cutInto(bytes, cuts)))
          .toString('latin1')
          .split(/(?<=\n\n)/);
        const taken: string[] = [];
        for (const event of bytes.toString('latin1').split(/(?<=\n\n)/)) {
          if (event === out[0]) out.shift();
          else taken.push(event);
        }
        assert.deepEqual(out.join(''), '');
        for (const event of taken) {
          const { choices, usage } = JSON.parse(/^data: (.*)$/m.exec(event)![1]!);
          assert.ok(usage !== null && typeof usage === 'object', event);
          assert.ok(choices === undefined || choices.length === 0, event);
        }
      }),
      { numRuns: propertyRuns(800) },
    );
  });
});
