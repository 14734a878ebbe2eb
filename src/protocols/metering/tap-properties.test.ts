import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cutEverywhere, cutOffsets, propertyRuns, someCutOffsets } from '../../../test/support/scope.ts';
import { type RenderedStream, renderStream, type StreamStyle } from '../../../test/support/stream-styles.ts';
import { chunksOf, cutAt, outOf, type RecordedStream, recordedStreams, relay } from '../../../test/support/streams.ts';

const recorded: StreamStyle = { name: 'as it was recorded', lineEnds: ['\n'] };

const styles: readonly StreamStyle[] = [
  { name: 'lines that end with CRLF, without its last empty line', lineEnds: ['\r\n'], lacks: 'emptyLine' },
  { name: 'lines that end with CR, no space behind the colons', lineEnds: ['\r'], isTight: true },
  {
    name: 'with all that a sender is free to add',
    lineEnds: ['\r\n', '\r\n', '\n', '\r'],
    hasByteOrderMark: true,
    hasComments: true,
    hasOtherFields: true,
    splitsEvery: 40,
  },
  { name: 'a line of data for every token', lineEnds: ['\r\n', '\n'], splitsEvery: 1 },
];

const EMPTY_LINE_BYTES = 2;

/** Offsets of the events of a recorded stream. */
function startOf({ events }: RecordedStream, place: number): number {
  return Buffer.byteLength(events.slice(0, place).join(''));
}

/** Asserts the output of a stream and what is known about it. Compares text before values, because that takes the time. */
function assertRelayed(stream: RecordedStream, rendered: RenderedStream, chunks: Iterable<Buffer>, note: string): void {
  const { forwarded, finished, errors, outcome } = relay(stream.reading(), chunks);
  if (!forwarded.equals(rendered.forwarded) || !finished.equals(rendered.finished)) {
    assert.equal(forwarded.toString(), rendered.forwarded.toString(), note);
    assert.equal(finished.toString(), rendered.finished.toString(), note);
  }
  assert.equal(errors.toString().replace(/\n$/, ''), rendered.failing, note);
  if (JSON.stringify(outcome) !== JSON.stringify(stream.outcome)) assert.deepEqual(outcome, stream.outcome, note);
}

describe('stream tap with recorded streams', () => {
  for (const stream of recordedStreams) {
    it(`relays and measures ${stream.name}, ${recorded.name}, the same wherever it is cut in two`, () => {
      const rendered = renderStream(stream, recorded);
      const { whole } = rendered;
      for (const at of someCutOffsets(whole.length)) {
        assertRelayed(stream, rendered, [whole.subarray(0, at), whole.subarray(at)], `cut at ${at}`);
      }
    });

    for (const style of [recorded, ...styles]) {
      it(`relays and measures ${stream.name}, ${style.name}, the same wherever it is cut into many chunks`, () => {
        const rendered = renderStream(stream, style);
        const { whole } = rendered;
        for (const { chunks, note } of cutEverywhere(whole)) assertRelayed(stream, rendered, chunks, note);
        for (const size of [1, 2, 3]) assertRelayed(stream, rendered, chunksOf(whole, size), `chunks of ${size}`);
      });
    }

    it(`delivers ${stream.name} up to its last complete event if it breaks off, and counts nothing more`, () => {
      const { whole } = renderStream(stream, recorded);
      const { events, dropped, failing, record } = stream;
      let beforeEvent = relay(stream.reading(), []);
      for (const [place, event] of events.entries()) {
        const start = startOf(stream, place);
        const bytes = Buffer.from(event);
        // An event is complete with its last byte of data.
        const dataEnd = bytes.length - EMPTY_LINE_BYTES;
        const isOver = record !== null && place > record;
        for (const size of cutOffsets(bytes.length - 1)) {
          const note = `broken off at ${start + size}`;
          const cut = relay(stream.reading(), [whole.subarray(0, start + size)]);
          const isHalf = size < dataEnd && /^(?:data|event)(?::|$)/m.test(event.slice(0, size));
          const isOut = !isHalf && (place !== dropped || size < dataEnd);
          const isIn = size >= dataEnd || isOver;
          const finished = isIn && record !== null && place >= record;
          const out = isOut ? [outOf(beforeEvent), bytes.subarray(0, size)] : [outOf(beforeEvent)];
          assert.ok(outOf(cut).equals(Buffer.concat(out)), note);
          assert.equal(cut.finished.length > 0, finished, note);
          assert.equal(
            cut.outcome.hasError,
            failing !== null && (place > failing || (place === failing && isIn)),
            note,
          );
          assert.equal(cut.outcome.isComplete[0], finished, note);
          if (isHalf) {
            const isComplete = [finished, finished];
            assert.deepEqual(cut.outcome, { ...beforeEvent.outcome, isComplete }, note);
            assert.equal(cut.errors.length, 0, note);
          }
        }
        beforeEvent = relay(stream.reading(), [whole.subarray(0, start + bytes.length)]);
      }
      assert.deepEqual(beforeEvent.outcome, stream.outcome);
    });
  }

  it('relays and measures a stream the same in any style, in chunks of any size', () => {
    const anyStyle = fc.record({
      name: fc.constant('any'),
      lineEnds: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 5 }),
      hasByteOrderMark: fc.boolean(),
      hasComments: fc.boolean(),
      hasOtherFields: fc.boolean(),
      isTight: fc.boolean(),
      splitsEvery: fc.constantFrom(1, 2, 3, 7, 50, 5000),
    });
    const record = fc.constantFrom<Pick<StreamStyle, 'lacks'>>({}, { lacks: 'emptyLine' }, { lacks: 'lineEnd' });
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.constantFrom(...recordedStreams), anyStyle, record, cuts, (stream, style, lacks, shares) => {
        const rendered = renderStream(stream, { ...style, ...lacks });
        const offsets = shares.map((share) => Math.floor(share * rendered.whole.length));
        assertRelayed(stream, rendered, cutAt(rendered.whole, offsets), `${stream.name}, cut at ${offsets}`);
      }),
      { numRuns: propertyRuns(1500) },
    );
  });
});
