import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  kindOf,
  memberOf,
  objectText,
  type SpeltString,
  space,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { JsonCapture, type JsonCaptureOptions } from './json-capture.ts';
import { MARKED_BYTES_MAX } from './json-captured-members.ts';
import { type JsonOutline, JsonSyntaxError, scanJson } from './json-scan.ts';
import { MemberNames } from './member-names.ts';

const NAMES = ['usage', 'id', 'data', '', 'né', '😀', 'a"\\/\n', '\ud800'] as const;
const everything: JsonCaptureOptions = { keep: NAMES, count: NAMES, keptBytesMax: 1024 * 1024 };

/** How a text is split: sizes of chunks, used in turn, and the offset of each chunk from an 8-byte boundary. */
interface Cutting {
  readonly sizes: readonly number[];
  readonly shift: number;
}

const whole: Cutting = { sizes: [Number.MAX_SAFE_INTEGER], shift: 0 };
const byteByByte: Cutting = { sizes: [1], shift: 0 };

const cutting: fc.Arbitrary<Cutting> = fc.record({
  sizes: fc.oneof(
    fc.constantFrom(whole.sizes, byteByByte.sizes),
    fc.array(fc.nat({ max: 12 }), { maxLength: 6 }).map((sizes) => [...sizes, 1]),
    fc.array(fc.nat({ max: 90 }), { maxLength: 6 }).map((sizes) => [...sizes, 50]),
  ),
  shift: fc.nat({ max: 7 }),
});

/** Pushes the text in chunks and overwrites each one afterwards, as a socket's buffer may be. */
function push(reader: JsonCapture, bytes: Buffer, { sizes, shift }: Cutting): void {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const part = bytes.subarray(at, at + sizes[turn % sizes.length]!);
    const chunk = Buffer.from(new ArrayBuffer(part.length + shift), shift);
    part.copy(chunk);
    at += part.length;
    reader.push(chunk);
    chunk.fill('"');
  }
}

function read(text: string | Buffer, how: Cutting = whole, options = everything): JsonCapture {
  const reader = new JsonCapture(options);
  push(reader, Buffer.from(text), how);
  reader.end();
  return reader;
}

/** The complete result for a text: its kind, and for each name the last value and its number of items; or the error. */
function captured(bytes: Buffer, how: Cutting): object {
  return outcome(() => {
    const reader = read(bytes, how);
    const members = NAMES.map((name) => [name, reader.value(name)?.toString('latin1'), reader.count(name)]);
    return { kind: reader.rootKind, members };
  });
}

/** The same result from `scanJson`. */
function scanned(bytes: Buffer): object {
  return outcome(() => {
    const outline = scanJson(bytes);
    const members = NAMES.map((name) => {
      const value = lastValue(bytes, outline, name);
      return [name, value?.toString('latin1'), value === undefined ? null : itemsOf(value)];
    });
    return { kind: outline.kind, members };
  });
}

function lastValue(bytes: Buffer, { members }: JsonOutline, name: string): Buffer | undefined {
  const member = members.findLast(({ key }) => key === name);
  return member === undefined ? undefined : bytes.subarray(member.valueStart, member.valueEnd);
}

function itemsOf(value: Buffer): number | null {
  const parsed: unknown = JSON.parse(value.toString());
  return Array.isArray(parsed) ? parsed.length : null;
}

function outcome(work: () => object): object {
  try {
    return work();
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError, `expected a JsonSyntaxError, not ${String(error)}`);
    return { message: error.message, offset: error.offset };
  }
}

/** A name in which any letters are escaped. */
function spelling(name: string): fc.Arbitrary<SpeltString> {
  const letters = [...name].map((letter) => {
    const units = letter.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return fc.constantFrom(JSON.stringify(letter).slice(1, -1), units.join(''));
  });
  const plain = fc.constant(JSON.stringify(name).slice(1, -1));
  return fc
    .oneof(
      plain,
      fc.tuple(...letters).map((parts) => parts.join('')),
    )
    .map((inside) => {
      return { text: `"${inside}"`, value: name };
    });
}

/** Requested members in any spelling and number, among others. */
const membersOfNames = fc.array(memberOf(fc.oneof(fc.constantFrom(...NAMES).chain(spelling), stringText), valueText), {
  maxLength: 6,
});

const text = fc
  .tuple(space, fc.oneof({ weight: 3, arbitrary: membersOfNames.map(objectText) }, valueText), space)
  .map((parts) => parts.join(''));

/** A text in which a byte was flipped, removed or inserted, or that was truncated. */
const damaged = fc
  .tuple(
    text,
    fc.nat(),
    fc.constantFrom('flip', 'remove', 'insert', 'truncate'),
    fc.oneof(fc.constantFrom(...Buffer.from('{}[],:"\\0-+.eEtfnu9 \n\u0000\u001f')), fc.nat({ max: 255 })),
  )
  .map(([before, seed, way, byte]) => {
    const bytes = Buffer.from(before);
    const at = seed % (bytes.length + 1);
    const rest = way === 'truncate' ? bytes.length : way === 'insert' ? at : at + 1;
    const put = way === 'flip' || way === 'insert' ? [byte] : [];
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(rest)]);
  });

/** Texts whose results must not depend on where they are split. */
const HAND_WRITTEN = [
  '{"id":"a\\u00e9\\ud83d\\ude00\\"\\\\","usage":{"a":[1,-2.50e-3,0],"b":null},"data":[1,[2,3],{"data":[]}]}',
  ' { "data" : [ 1 , 2.5 , -3e5 ] , "\\u0069d" : true , "usage" : "né😀" } \r\n',
  '{"usage":1,"usage":[],"usage":{"usage":2},"u\\u0073age":3,"us":4,"usagee":5}',
  '{"data":[0,-0,0.0,1E+400,12345678901234567890],"id":-12.75e+10}',
  '{"data":[true,false,null,"",{},[]],"id":false}',
  '{"data":[]}',
  '[{"id":1},"usage",{"data":[1]}]',
  '-120.5e-07',
  '"\\ud83d\\ude00 and \\ud800 alone"',
  'false',
  '{"id":1,}',
  '{"id":"\\u00g0"}',
  '{"id":"\\x"}',
  '{"id":nul1}',
  '{"id":01}',
  '{"id":1.e5}',
  '{"id":-}',
  '{"id":1e+}',
  '{"id":"a\tb"}',
  '{"id":1}}',
  '{"id":1}\u0000',
  '[1,2',
  '\ufeff{}',
];

describe('JsonCapture', () => {
  it('accepts exactly the texts that JSON.parse accepts, in any chunks', () => {
    const isAccepted = (work: () => unknown): boolean => {
      try {
        work();
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(
        fc.oneof(
          text.map((sent) => Buffer.from(sent)),
          damaged,
        ),
        cutting,
        (bytes, how) => {
          const sent = bytes.toString();
          assert.equal(
            isAccepted(() => read(sent, how)),
            isAccepted(() => JSON.parse(sent)),
            sent,
          );
        },
      ),
      { numRuns: propertyRuns(1500) },
    );
  });

  // JSON.parse cannot be the reference for escaped keys: that of Node 24 reads {"a":1,"\u0062":2} as {"a":1,"\\":2} after
  // it has seen an object of the latter shape.
  it('keeps the last member of each name in its original spelling, and counts its items', () => {
    fc.assert(
      fc.property(membersOfNames, cutting, (members, how) => {
        const reader = read(objectText(members), how);
        assert.equal(reader.rootKind, 'object');
        for (const name of NAMES) {
          const value = members.findLast(({ key }) => key.value === name)?.value;
          assert.equal(reader.value(name)?.toString(), value);
          assert.equal(reader.count(name), value === undefined ? null : itemsOf(Buffer.from(value)));
        }
      }),
      { numRuns: propertyRuns(1500) },
    );
  });

  it('returns the same results as scanJson for any text in any chunks', () => {
    fc.assert(
      fc.property(text, cutting, (sent, how) => {
        const bytes = Buffer.from(sent);
        assert.deepEqual(captured(bytes, how), scanned(bytes));
      }),
      { numRuns: propertyRuns(1500) },
    );
  });

  it('throws the same errors as scanJson in any chunks', () => {
    fc.assert(
      fc.property(damaged, cutting, (bytes, how) => {
        assert.deepEqual(captured(bytes, how), scanned(bytes));
      }),
      { numRuns: propertyRuns(2500) },
    );
  });

  for (const sent of HAND_WRITTEN) {
    it(`reads ${JSON.stringify(sent)} alike in any two or three chunks, and byte by byte`, () => {
      const bytes = Buffer.from(sent);
      const expected = scanned(bytes);
      assert.deepEqual(captured(bytes, byteByByte), expected);
      for (let first = 0; first <= bytes.length; first++) {
        for (let second = 0; second <= bytes.length - first; second++) {
          assert.deepEqual(captured(bytes, { sizes: [first, second, bytes.length], shift: 0 }), expected);
        }
      }
    });
  }

  it('treats every truncated text as scanJson does', () => {
    for (const sent of HAND_WRITTEN) {
      const bytes = Buffer.from(sent);
      for (let end = 0; end < bytes.length; end++) {
        const expected = scanned(bytes.subarray(0, end));
        assert.deepEqual(captured(bytes.subarray(0, end), whole), expected);
        assert.deepEqual(captured(bytes.subarray(0, end), byteByByte), expected);
      }
    }
  });

  it('finds every special byte in a long string, at any position and chunk alignment', () => {
    const specials = [
      '"',
      '\\',
      '\\n',
      '\\u00e9',
      '\\u00g9',
      '\u0000',
      '\u001f',
      '\n',
      ' ',
      '!',
      '#',
      '[',
      ']',
      'é',
      '\u007f',
    ];
    for (const special of specials) {
      for (let before = 0; before < 44; before++) {
        const bytes = Buffer.from(`{"id":"${'x'.repeat(before)}${special}${'né '.repeat(15)}"}`);
        const expected = scanned(bytes);
        for (let shift = 0; shift < 4; shift++) {
          assert.deepEqual(captured(bytes, { sizes: [bytes.length], shift }), expected);
          assert.deepEqual(captured(bytes, { sizes: [5, 47, 100], shift }), expected);
        }
      }
    }
  });

  it('finds the special byte in a long run of any bytes', () => {
    const run = fc.uint8Array({ minLength: 30, maxLength: 300 }).map((bytes) => bytes.map((byte) => byte | 0x80));
    const plain = fc.constantFrom(...Buffer.from(' !#[]^~\u007f{}ABCabc019'));
    fc.assert(
      fc.property(run, fc.array(plain), fc.nat({ max: 255 }), fc.nat(), cutting, (bytes, letters, byte, seed, how) => {
        for (const [i, letter] of letters.entries()) bytes[(i * 7 + seed) % bytes.length] = letter;
        bytes[seed % bytes.length] = byte;
        const sent = Buffer.concat([Buffer.from('{"usage":"'), bytes, Buffer.from('"}')]);
        assert.deepEqual(captured(sent, how), scanned(sent));
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('completes a number as the outermost value only at the end of the text', () => {
    const reader = new JsonCapture(everything);
    assert.equal(reader.rootKind, null);
    reader.push(Buffer.from('1'));
    assert.equal(reader.rootKind, 'number');
    reader.push(Buffer.from('2'));
    reader.end();
    for (const unfinished of ['-', '1.', '1e', '1e-']) {
      assert.throws(() => read(unfinished), { message: 'a digit is expected here', offset: unfinished.length });
    }
  });

  it('reports the kind of the outermost value after its first byte', () => {
    for (const sent of ['{}', '[]', '""', '-1', '1', 'true', 'false', 'null']) {
      const reader = new JsonCapture(everything);
      reader.push(Buffer.from('\n '));
      assert.equal(reader.rootKind, null);
      reader.push(Buffer.from(sent.slice(0, 1)));
      assert.equal(reader.rootKind, kindOf(sent));
    }
  });

  it('throws at the first byte that cannot be JSON', () => {
    const beginnings: readonly [good: string, bad: string, offset: number][] = [
      ['', 'x', 0],
      ['{', '1', 1],
      ['{"a"', ',', 4],
      ['{"a":', '}', 5],
      ['{"a":1', ' 2', 7],
      ['{"a":1}', ']', 7],
      ['[', ',', 1],
      ['[1,', ']', 3],
      ['[0', '1', 2],
      ['[-', 'a', 2],
      ['[1.', 'e', 3],
      ['[tr', 'x', 1],
      ['["ab', '\n', 4],
      ['["ab\\', 'x', 4],
      ['["ab\\u12', '"', 4],
    ];
    for (const [good, bad, offset] of beginnings) {
      const reader = new JsonCapture(everything);
      push(reader, Buffer.from(good), byteByByte);
      assert.throws(() => push(reader, Buffer.from(bad), byteByByte), { name: 'JsonSyntaxError', offset }, good + bad);
    }
  });

  it('reports offsets relative to the text, not to the chunk', () => {
    const reader = new JsonCapture(everything);
    reader.push(Buffer.from('["'));
    const part = Buffer.alloc(1024 * 1024, 'x');
    for (let i = 0; i < 8; i++) reader.push(part);
    assert.throws(() => reader.push(Buffer.from('"}')), { offset: 8 * part.length + 3 });
  });

  it('throws the same error in all later calls', () => {
    const reader = new JsonCapture(everything);
    const thrown = (work: () => void): unknown => {
      try {
        work();
      } catch (error) {
        return error;
      }
      return assert.fail('nothing was thrown');
    };
    const first = thrown(() => reader.push(Buffer.from('{]')));
    assert.ok(first instanceof JsonSyntaxError);
    assert.equal(
      thrown(() => reader.push(Buffer.from('}'))),
      first,
    );
    assert.equal(
      thrown(() => reader.end()),
      first,
    );
  });

  it('counts every container towards the depth, including the outermost and empty ones', () => {
    const limits: JsonCaptureOptions = { keep: [], keptBytesMax: 0 };
    const depthMax = 512;
    const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    for (const nested of [arrays, objects]) {
      for (const [max, options] of [[depthMax, limits] as const, [3, { ...limits, depthMax: 3 }] as const]) {
        read(nested(max), whole, options);
        assert.throws(() => read(nested(max + 1), whole, options), {
          name: 'JsonSyntaxError',
          message: `the value is nested deeper than ${max} levels`,
        });
        read(`[${nested(max - 1)},${nested(max - 1)}]`, byteByByte, options);
      }
    }
  });

  it('drops values beyond the limit of kept bytes', () => {
    const members = fc.array(memberOf(fc.constantFrom('id', 'usage', 'other').chain(spelling), valueText), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(members, fc.nat({ max: 40 }), cutting, (sent, keptBytesMax, how) => {
        const expected = new Map<string, string | null>();
        for (const { key, value } of sent) {
          if (key.value === 'other') continue;
          expected.delete(key.value);
          const others = Buffer.byteLength([...expected.values()].join(''));
          expected.set(key.value, others + Buffer.byteLength(value) > keptBytesMax ? null : value);
        }
        const reader = read(objectText(sent), how, { keep: ['id', 'usage'], keptBytesMax });
        for (const name of ['id', 'usage'])
          assert.equal(reader.value(name)?.toString(), expected.get(name) ?? undefined);
      }),
      { numRuns: propertyRuns(1500) },
    );
  });

  it('keeps a value of exactly the limit', () => {
    const sent = `{"id":"${'x'.repeat(5_000)}"}`;
    for (const how of [whole, byteByByte, { sizes: [1_000], shift: 1 }]) {
      const exact = read(sent, how, { keep: ['id'], keptBytesMax: 5_002 });
      assert.equal(exact.value('id')?.toString(), sent.slice(6, -1));
      const small = read(sent, how, { keep: ['id'], keptBytesMax: 5_001 });
      assert.equal(small.value('id'), undefined);
    }
  });

  const keepMarked = { name: 'data', marks: new MemberNames('mark', 'other_mark') };

  it('keeps a marked member up to a separate limit', () => {
    for (const [bytes, isKept] of [
      [MARKED_BYTES_MAX, true],
      [MARKED_BYTES_MAX + 1, false],
    ] as const) {
      const sent = `{"data":{"mark":["${'x'.repeat(bytes - 13)}"]},"id":"a"}`;
      for (const how of [whole, { sizes: [65_536], shift: 3 }]) {
        const reader = read(sent, how, { keep: ['id'], keepMarked, keptBytesMax: 3 });
        assert.equal(reader.value('data') !== undefined, isKept);
        assert.equal(reader.value('id')?.toString(), '"a"');
      }
    }
    const both = read('{"data":{"mark":[1]}}', whole, { keep: ['data'], keepMarked, keptBytesMax: 3 });
    assert.deepEqual([both.value('data'), both.isMarked('data')], [undefined, true]);
  });

  it('finds the marks of a member at any depth, in any chunks', () => {
    /** Whether an object in a value has a non-empty member with one of these names. */
    const holdsMark = (value: unknown): boolean =>
      typeof value === 'object' &&
      value !== null &&
      Object.entries(value).some(([key, inner]) => {
        const isMark = !Array.isArray(value) && ['mark', 'other_mark'].includes(key);
        const isFilled =
          typeof inner === 'string' || (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0);
        return (isMark && isFilled) || holdsMark(inner);
      });
    const key = fc.constantFrom('mark', 'other_mark', 'marks', 'a');
    const { value: data } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(null, 1, '"mark":[1]', [], {}),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(data, fc.nat(2), cutting, (value, indent, how) => {
        const sent = JSON.stringify({ mark: [1], data: value, id: { mark: [1] } }, null, indent);
        const expected = holdsMark(value);
        assert.equal(read(sent, whole, { keep: [], keepMarked, keptBytesMax: 0 }).isMarked('data'), expected);
        const reader = read(sent, how, { keep: [], keepMarked, keptBytesMax: 0 });
        // A key in two chunks may count as a mark.
        assert.ok(reader.isMarked('data') || !expected);
        const kept = reader.value('data');
        assert.equal(kept !== undefined, reader.isMarked('data'));
        if (kept !== undefined) assert.equal(JSON.stringify(JSON.parse(kept.toString())), JSON.stringify(value));
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('keeps nothing of a marked member after giveUpMarked', () => {
    for (const cut of [10, 20, 26]) {
      const bytes = Buffer.from('{"data":{"mark":["x"]},"id":"a"}');
      const capture = new JsonCapture({ keep: ['id'], keepMarked, keptBytesMax: 3 });
      capture.push(bytes.subarray(0, cut));
      capture.giveUpMarked();
      capture.push(bytes.subarray(cut));
      capture.end();
      assert.deepEqual([capture.value('data'), capture.memoryBytes], [undefined, 3], String(cut));
    }
  });

  it('does not count members that are not requested towards the limit', () => {
    const sent = `{"${'k'.repeat(10_000)}":1,"data":["${'x'.repeat(100_000)}",2],"id":"a"}`;
    for (const how of [whole, byteByByte, { sizes: [4_096], shift: 3 }]) {
      const reader = read(sent, how, { keep: ['id'], count: ['data'], keptBytesMax: 3 });
      assert.equal(reader.value('id')?.toString(), '"a"');
      assert.equal(reader.value('data'), undefined);
      assert.equal(reader.count('data'), 2);
      assert.equal(reader.count('id'), null);
    }
  });

  it('counts items of any kind, but not the items of nested arrays', () => {
    const item = fc.oneof(fc.constantFrom('1', '-2.5', '0', '1e5'), valueText);
    fc.assert(
      fc.property(fc.array(fc.tuple(space, item, space), { maxLength: 12 }), space, cutting, (items, inside, how) => {
        const list = items.length === 0 ? inside : items.map((parts) => parts.join('')).join(',');
        assert.equal(read(`{"usage":[1],"data":[${list}],"id":[1,2,3]}`, how).count('data'), items.length);
        assert.equal(read(`[[${list}]]`, how).count('data'), null);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('uses the last member of a name, even if it is not an array', () => {
    assert.equal(read('{"data":[1,2],"data":[1]}').count('data'), 1);
    assert.equal(read('{"data":[1,2],"data":{"data":[3]}}').count('data'), null);
    assert.equal(read('{"data":1,"d\\u0061ta":[1,2,3]}').count('data'), 3);
  });

  it('has no members if the outermost value is not an object', () => {
    for (const sent of ['["id",1]', '[{"id":1}]', '"id"', '1']) assert.equal(read(sent).value('id'), undefined);
  });

  it('returns a value as soon as it is complete', () => {
    const reader = new JsonCapture(everything);
    reader.push(Buffer.from('{"id":12'));
    assert.equal(reader.value('id'), undefined);
    reader.push(Buffer.from('3,'));
    assert.equal(reader.value('id')?.toString(), '123');
  });
});
