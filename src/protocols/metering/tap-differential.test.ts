import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Readable, type Transform } from 'node:stream';
import { describe, it } from 'node:test';
import { _iterSSEMessages as readWithMessagesSdk } from '@anthropic-ai/sdk/core/streaming';
import fc from 'fast-check';
import { _iterSSEMessages as readWithChatSdk } from 'openai/core/streaming';
import { propertyRuns } from '../../../test/support/scope.ts';
import { renderStream, type StreamStyle } from '../../../test/support/stream-styles.ts';
import { cutAt, recordedStreams } from '../../../test/support/streams.ts';
import type { StreamReading } from './stream-reading.ts';
import { StreamTap } from './tap.ts';

interface ClientEvent {
  readonly name: string;
  readonly data: string;
}

/** What clients read from the relayed bytes, according to three third-party parsers. */
const clients: Readonly<Record<string, (chunks: readonly Buffer[]) => Promise<ClientEvent[]>>> = {
  'the chat SDK': (chunks) => readWithSdk(readWithChatSdk, chunks),
  'the messages SDK': (chunks) => readWithSdk(readWithMessagesSdk, chunks),
  'the event source of undici': readWithEventSource,
};

async function readWithSdk(read: typeof readWithChatSdk, chunks: readonly Buffer[]): Promise<ClientEvent[]> {
  const response = new Response(new Blob(chunks.map((chunk) => new Uint8Array(chunk))).stream());
  const events: ClientEvent[] = [];
  for await (const { event, data } of read(response, new AbortController())) events.push({ name: event ?? '', data });
  return events.filter(({ data }) => data !== '');
}

const { EventSourceStream } = createRequire(import.meta.url)(
  '../../../node_modules/undici/lib/web/eventsource/eventsource-stream.js',
) as { EventSourceStream: new (options: object) => Transform };

async function readWithEventSource(chunks: readonly Buffer[]): Promise<ClientEvent[]> {
  const parser = new EventSourceStream({ eventSourceSettings: { origin: '', lastEventId: '', reconnectionTime: 0 } });
  const events: ClientEvent[] = [];
  for await (const { type, options } of Readable.from(chunks).pipe(parser)) {
    events.push({ name: type === 'message' ? '' : type, data: options.data });
  }
  return events;
}

const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

/** The output of the gateway: the output of the tap, with a comment wherever it allows one. */
function relayWithComments(reading: StreamReading, chunks: readonly Buffer[]): Buffer[] {
  const out: Buffer[] = [];
  const note = (bytes: Buffer): void => {
    out.push(bytes);
  };
  const tap = new StreamTap(reading, { forward: note, forwardError: note, finish: note, finishError: note });
  for (const chunk of chunks) {
    tap.push(chunk);
    // Not at the very beginning, where a byte order mark has a special meaning.
    if (tap.isBetweenEvents && out.length > 0) out.push(KEEP_ALIVE);
  }
  tap.end();
  return out;
}

/** Data without the white space that JSON allows between tokens. */
function meaning({ name, data }: ClientEvent): ClientEvent {
  return { name, data: data.startsWith('{') ? JSON.stringify(JSON.parse(data)) : data };
}

const anyStyle: fc.Arbitrary<StreamStyle> = fc.record({
  name: fc.constant('any'),
  lineEnds: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 4 }),
  hasByteOrderMark: fc.boolean(),
  hasComments: fc.boolean(),
  hasOtherFields: fc.boolean(),
  isTight: fc.boolean(),
  splitsEvery: fc.constantFrom(1, 3, 5000),
});

describe('stream tap compared with client parsers', () => {
  for (const [client, read] of Object.entries(clients)) {
    it(`shows ${client} the events that the provider sent, except the one that is removed`, async () => {
      const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...recordedStreams), anyStyle, cuts, async (stream, style, shares) => {
          const { whole } = renderStream(stream, style);
          const chunks = cutAt(
            whole,
            shares.map((share) => Math.floor(share * whole.length)),
          );
          const recorded = stream.events.filter((_, i) => i !== stream.dropped).join('');
          const expected = await read([Buffer.from(recorded)]);
          assert.equal(expected.length, recorded.split('\n\n').filter((event) => event.includes('data: ')).length);
          const seen = await read(relayWithComments(stream.reading(), chunks));
          assert.deepEqual(seen.map(meaning), expected.map(meaning));
        }),
        { numRuns: propertyRuns(300) },
      );
    });
  }
});
