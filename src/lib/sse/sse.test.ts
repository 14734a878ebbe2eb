import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { eventFields, holdsData } from './event-fields.ts';
import { eachEvent, SseSplitter } from './sse.ts';

interface Pass {
  readonly kind: 'events' | 'oversize';
  readonly bytes: Buffer;
}

/** Passes the chunks to a splitter and returns copies of what its sink got. */
function split(chunks: readonly Buffer[], eventBytesMax?: number): Pass[] {
  const passes: Pass[] = [];
  const note =
    (kind: Pass['kind']) =>
    (bytes: Buffer): void => {
      passes.push({ kind, bytes: Buffer.from(bytes) });
    };
  const splitter = new SseSplitter({ events: note('events'), oversize: note('oversize') }, eventBytesMax);
  for (const chunk of chunks) splitter.push(chunk);
  const rest = splitter.takeRest();
  if (rest !== null) note('events')(rest);
  return passes;
}

function joined(passes: readonly Pass[]): Buffer {
  return Buffer.concat(passes.map(({ bytes }) => bytes));
}

/** The data of every event that was passed on as a whole. */
function dataOf(passes: readonly Pass[]): string[] {
  return passes
    .filter(({ kind }) => kind === 'events')
    .flatMap(({ bytes }) => [...eachEvent(bytes)])
    .map((event) => eventFields(event).data?.toString() ?? null)
    .filter((data) => data !== null);
}

/** The data of every event, from the complete text: the algorithm of WHATWG, line by line. */
function referenceData(text: string): string[] {
  const events: string[] = [];
  let data: string[] | null = null;
  const dispatch = (): void => {
    if (data !== null) events.push(data.join('\n'));
    data = null;
  };
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    if (line === '') dispatch();
    else if (field === 'data') data = [...(data ?? []), colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')];
  }
  dispatch();
  return events;
}

function cutAt(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [0, ...positions.map((position) => position % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end));
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const line = fc.constantFrom(
  'data: a',
  'data:b',
  'data',
  'data: ',
  'data:  c',
  'data: 你好😀',
  'dataset: x',
  'event: e',
  ': ping',
  'id: 1',
  ':',
  'data: {"a":1}',
);
/** Streams with all kinds of lines, mixed line ends, and empty lines anywhere. */
const stream = fc
  .tuple(
    fc.constantFrom('', 'data: first\n\n', '\ufeffdata: first\r\n\r\n'),
    fc.array(fc.tuple(fc.oneof(line, fc.constant('')), lineEnd), { maxLength: 14 }),
    fc.constantFrom('', 'data: last'),
  )
  .map(([start, lines, end]) => start + lines.flat().join('') + end);

const someStreams: readonly string[] = [
  'data: one\n\ndata: two\ndata: more\n\n: ping\n\ndata: 你好\n\n',
  'data: one\r\n\r\ndata: two\r\ndata: more\r\n\r\n: ping\r\n\r\ndata: 😀\r\n\r\n',
  'data: one\r\rdata: two\rdata: more\r\r: ping\r\rdata: é\r\r',
  '\ufeffevent: e\r\ndata: one\r\n\r\n\r\n\n\rdata: two\n\r\ndata: unfinished',
];

describe('SseSplitter', () => {
  it('passes on the same bytes and the same events in any chunks', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 400 }), { maxLength: 6 }), (text, positions) => {
        const bytes = Buffer.from(text);
        const passes = split(cutAt(bytes, positions));
        assert.deepEqual(joined(passes), bytes);
        assert.deepEqual(dataOf(passes), referenceData(text));
      }),
      { numRuns: propertyRuns(3000) },
    );
  });

  it('passes on the same events in any two chunks, and byte by byte', () => {
    for (const text of someStreams) {
      const bytes = Buffer.from(text);
      const everyByte = split(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
      assert.deepEqual(joined(everyByte), bytes);
      assert.deepEqual(dataOf(everyByte), referenceData(text));
      for (let at = 0; at <= bytes.length; at++) {
        const passes = split([bytes.subarray(0, at), bytes.subarray(at)]);
        assert.deepEqual(joined(passes), bytes);
        assert.deepEqual(dataOf(passes), referenceData(text), `cut at ${at}`);
      }
    }
  });

  it('passes on an event at the CR of its empty line, without waiting for the LF', () => {
    const passes: string[] = [];
    const splitter = new SseSplitter({
      events: (bytes) => passes.push(bytes.toString()),
      oversize: () => assert.fail('nothing here is large'),
    });
    splitter.push(Buffer.from('data: a\r\n'));
    assert.deepEqual(passes, []);
    splitter.push(Buffer.from('\r'));
    assert.deepEqual(passes, ['data: a\r\n\r']);
    splitter.push(Buffer.from('\ndata: b'));
    assert.deepEqual(passes, ['data: a\r\n\r', '\n']);
  });

  it('buffers an event until its end, even if its lines arrive one by one', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const chunks = ['event: e', end, 'data: a', end, 'data: b', end, end].map((text) => Buffer.from(text));
      const passes = split(chunks.flatMap((chunk) => Array.from(chunk, (byte) => Buffer.of(byte))));
      assert.equal(passes[0]!.bytes.toString().trimEnd(), `event: e${end}data: a${end}data: b`);
    }
  });

  it('passes on the events of a chunk together', () => {
    assert.equal(split([Buffer.from('data: a\n\ndata: b\n\n: c\n\n')]).length, 1);
  });

  it('passes on nothing at the end of a stream that ends with an event', () => {
    assert.deepEqual(
      split([Buffer.from('data: a\n\n')]).map(({ bytes }) => bytes.toString()),
      ['data: a\n\n'],
    );
    assert.deepEqual(split([]), []);
  });

  it('reports at the end whether the last event is incomplete, for any size', () => {
    const isCut = (text: string): boolean => {
      const splitter = new SseSplitter({ events: () => undefined, oversize: () => undefined }, 20);
      for (const byte of Buffer.from(text)) splitter.push(Buffer.of(byte));
      return splitter.takeRest() !== null || !splitter.isBetweenEvents;
    };
    const giant = `data: ${'a'.repeat(30)}`;
    for (const whole of ['', '\n', 'data: a\n\n', 'data: a\r\n\r\n', 'data: a\r\r', `${giant}\n\n`]) {
      assert.equal(isCut(whole), false, JSON.stringify(whole));
    }
    for (const cut of ['data: a', 'data: a\n', 'data: a\r\n', ': comment\n', 'data: a\n\nd', giant, `${giant}\n`]) {
      assert.equal(isCut(cut), true, JSON.stringify(cut));
    }
  });

  it('passes on an event beyond the limit in parts, and every other event as a whole, in any chunks', () => {
    const large = fc.integer({ min: 41, max: 120 }).map((size) => `data: ${'x'.repeat(size - 6)}`);
    const block = fc.oneof(
      fc.constantFrom('data: a', 'data: b', ': ping', 'event: e\ndata: c', 'data: d\r\ndata: e'),
      large,
    );
    const blocks = fc.array(fc.tuple(block, fc.constantFrom('\n\n', '\r\n\r\n', '\r\r', '\n\r\n', '\r\n\n')), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(blocks, fc.array(fc.nat({ max: 700 }), { maxLength: 8 }), (parts, positions) => {
        const text = parts.flat().join('');
        const bytes = Buffer.from(text);
        const passes = split(cutAt(bytes, positions), 40);
        const isSmall = (data: string): boolean => !data.startsWith('x');
        assert.deepEqual(joined(passes), bytes);
        assert.deepEqual(dataOf(passes).filter(isSmall), referenceData(text).filter(isSmall));
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('passes on the events around a large event as a whole in any two chunks, and byte by byte', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const giant = `data: ${'x'.repeat(60)}${end}data: ${'x'.repeat(10)}${end}${end}`;
      const text = `data: a${end}${end}${giant}data: b${end}${end}data: c${end}${end}`;
      const bytes = Buffer.from(text);
      const small = ['a', 'b', 'c'];
      const head = bytes.indexOf('x') + 50;
      for (let at = head; at <= bytes.length; at++) {
        const passes = split([bytes.subarray(0, head), bytes.subarray(head, at), bytes.subarray(at)], 40);
        assert.deepEqual(joined(passes), bytes);
        assert.deepEqual(dataOf(passes), small, `${JSON.stringify(end)}, cut at ${at}`);
        assert.ok(passes.some(({ kind }) => kind === 'oversize'));
      }
      const everyByte = split(
        Array.from(bytes, (byte) => Buffer.of(byte)),
        40,
      );
      assert.deepEqual(joined(everyByte), bytes);
      assert.deepEqual(dataOf(everyByte), small);
    }
  });

  it('passes on an event of exactly the limit as a whole, and a larger one in parts', () => {
    const outcome = (size: number) => split([Buffer.alloc(size, 'x'), Buffer.from('\n\n')], 40).map(({ kind }) => kind);
    assert.deepEqual(outcome(40), ['events']);
    assert.deepEqual(outcome(41), ['oversize', 'oversize']);
  });

  it('passes on the bytes of a large event as they arrive', () => {
    const chunks = [50, 1, 30].map((size) => Buffer.alloc(size, 'x'));
    assert.deepEqual(
      split(chunks, 40).map(({ kind, bytes }) => [kind, bytes.length]),
      [
        ['oversize', 50],
        ['oversize', 1],
        ['oversize', 30],
      ],
    );
  });
});

describe('the parts of a large event', () => {
  it('end with one that is marked as the last, in any chunks', () => {
    const text = `data: ${'x'.repeat(60)}\r\n\r\n`;
    // A chunk with the first byte of the empty line contains the whole event.
    for (let at = 50; at < text.length - 1; at++) {
      const lasts: boolean[] = [];
      const sink = { events: () => undefined, oversize: (_: Buffer, isLast: boolean) => lasts.push(isLast) };
      const splitter = new SseSplitter(sink, 40);
      for (const part of [text.slice(0, at), text.slice(at), text.slice(0, 50), text.slice(50)]) {
        splitter.push(Buffer.from(part));
      }
      assert.equal(lasts.filter(Boolean).length, 2, `cut at ${at}`);
      assert.equal(lasts.at(-1), true, `cut at ${at}`);
    }
  });
});

describe('eachEvent', () => {
  it('splits after every empty line, and returns lines between events separately', () => {
    const cut = (text: string) => [...eachEvent(Buffer.from(text))].map(String);
    assert.deepEqual(cut('data: a\n\n\n\r\ndata: b\r\n\r\n'), ['data: a\n\n', '\n', '\r\n', 'data: b\r\n\r\n']);
    assert.deepEqual(cut('\ndata: a\r\rdata: b'), ['\n', 'data: a\r\r', 'data: b']);
    assert.deepEqual(cut(''), []);
  });
});

describe('holdsData', () => {
  it('is true if eventFields finds data', () => {
    fc.assert(
      fc.property(stream, (text) => {
        const bytes = Buffer.from(text);
        assert.equal(
          holdsData(bytes),
          [...eachEvent(bytes)].some((event) => eventFields(event).data !== null),
        );
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('is false for comments, other fields and empty lines', () => {
    for (const text of ['', '\n', ': data: a\n\n', 'event: e\n\n', 'dataset: a\r\r', ' data: a\n\n', 'dat']) {
      assert.equal(holdsData(Buffer.from(text)), false, JSON.stringify(text));
    }
    for (const text of [
      'data',
      'data:\n\n',
      '\ufeffdata: a',
      '\n\ufeffdata: a',
      ': c\r\ndata\r\n\r\n',
      '\n\ndata: a',
    ]) {
      assert.equal(holdsData(Buffer.from(text)), true, JSON.stringify(text));
    }
  });
});

describe('a large event that the sink needs as a whole', () => {
  /** Passes the event in chunks, and returns what the sink got. */
  function splitWhole(event: Buffer, sizes: readonly number[]): Buffer[] {
    const given: Buffer[] = [];
    const splitter = new SseSplitter({
      events: (bytes) => given.push(bytes),
      oversize: () => assert.fail('it was passed on in parts'),
      isNeededWhole: (beginning) => beginning.toString().startsWith('data: whole'),
    });
    for (let at = 0, i = 0; at < event.length; i++) {
      const size = sizes[i % sizes.length]!;
      splitter.push(event.subarray(at, at + size));
      at += size;
    }
    return given;
  }

  const event = Buffer.from(`data: whole ${'0123456789'.repeat(500_000)}\n\n`);

  it('is passed on as a whole in any chunks', () => {
    const size = fc.oneof(
      fc.integer({ min: 15, max: 70_000 }),
      fc.integer({ min: 1_000_000, max: 1_100_000 }),
      fc.constantFrom(1, 65_536, 2 ** 20, 2 ** 20 - 1, 2 ** 20 + 1, 3_000_000),
    );
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 5 }), (sizes) => {
        // Only single bytes would take too long.
        const given = splitWhole(event, [...sizes, 50_000]);
        assert.equal(given.length, 1);
        assert.ok(given[0]!.equals(event));
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('grows without leaving copies behind', (t: TestContext) => {
    let allocatedBytes = 0;
    const allocate = Buffer.allocUnsafeSlow;
    t.mock.method(Buffer, 'allocUnsafeSlow', (size: number) => {
      allocatedBytes += size;
      return allocate(size);
    });
    splitWhole(event, [65_536]);
    const grownBytes = allocatedBytes - event.length;
    assert.ok(grownBytes < event.length + 2 ** 18, `${grownBytes} bytes for an event of ${event.length}`);
  });

  it('frees its blocks when they are joined, in a separate mapping if it is very large', (t: TestContext) => {
    const allocated: Buffer[] = [];
    const allocate = Buffer.allocUnsafeSlow;
    t.mock.method(Buffer, 'allocUnsafeSlow', (size: number) => {
      allocated.push(allocate(size));
      return allocated.at(-1)!;
    });
    const chunk = Buffer.alloc(2 ** 20, '0123456789');
    const chunks = [Buffer.from('data: whole '), ...Array.from({ length: 20 }, () => chunk), Buffer.from('\n\n')];
    const large = Buffer.concat(chunks);
    const given = splitWhole(large, [70_000, 7]);
    assert.equal(given.length, 1);
    assert.ok(given[0]!.equals(large));
    // Freed memory has no length. Freed memory in the heap of glibc stays resident between used blocks.
    const kept = allocated.map(({ length }) => length).filter((length) => length > 2 ** 16);
    assert.deepEqual(kept, [33 * 2 ** 20]);
    assert.ok(allocated.filter(({ length }) => length === 2 ** 16).length <= 1);
  });
});
