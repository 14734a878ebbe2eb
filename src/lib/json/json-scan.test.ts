import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  kindOf,
  memberOf,
  memberText,
  objectText,
  space,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { defaultJsonScanLimits, JsonLimitError, JsonStepsError, JsonSyntaxError, scanJson } from './json-scan.ts';

const scan = (text: string) => scanJson(Buffer.from(text));

function isAccepted(text: string): boolean {
  try {
    scan(text);
    return true;
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError, `expected a JsonSyntaxError, not ${String(error)}`);
    return false;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Valid texts with one character removed, inserted or changed. */
const damagedText = fc
  .tuple(
    valueText,
    fc.nat(),
    fc.constantFrom('insert', 'remove', 'replace'),
    fc.constantFrom(...'{}[],:"\\0-+.eEtfnu \n\u0000é'),
  )
  .map(([text, seed, way, letter]) => {
    const at = seed % text.length;
    const rest = text.slice(way === 'insert' ? at : at + 1);
    return text.slice(0, at) + (way === 'remove' ? '' : letter) + rest;
  });

/** Tokens in any order, which are sometimes JSON. */
const tokenSoup = fc
  .array(
    fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"a"', '""', '0', '01', '-', '1', '.', '5', 'e', '+', 'true', 'false', 'null'],
      ...['nul', ' ', '\n', '"\\u12', '"\\x"', '\t', '\ufeff', '\u00a0'],
    ),
    { maxLength: 8 },
  )
  .map((tokens) => tokens.join(''));

describe('scanJson', () => {
  it('accepts exactly the texts that JSON.parse accepts', () => {
    const text = fc.oneof(valueText, damagedText, tokenSoup, fc.string({ maxLength: 20 }));
    fc.assert(
      fc.property(space, text, space, (before, value, after) => {
        // A lone surrogate has no UTF-8 encoding, so the decoded bytes are compared.
        const sent = Buffer.from(before + value + after).toString();
        assert.equal(isAccepted(sent), isJson(sent), JSON.stringify(sent));
      }),
      { numRuns: propertyRuns(3000) },
    );
  });

  it('refuses malformed numbers and strings', () => {
    for (const text of ['-', '01', '-01', '1.', '.5', '1e', '1e+', '+1', '0x1', '1.e3', 'NaN', 'Infinity', '--1']) {
      assert.equal(isAccepted(text), false, text);
      assert.equal(isAccepted(`[${text}]`), false, text);
    }
    for (const text of ['0', '-0', '-0.0', '1e5', '1E+5', '1e-05', '123456789012345678901234567890', '1e400']) {
      assert.equal(scan(text).kind, 'number');
    }
    for (const text of ['"\\x41"', '"\\u12g4"', '"\\u12', '"\\"', '"a', '"\n"', '"\u0000"', '"\u001f"', "'a'"]) {
      assert.equal(isAccepted(text), false, text);
    }
  });

  it('reports the offsets of the members of the outermost object, in bytes and in the order of the text', () => {
    fc.assert(
      fc.property(
        space,
        fc.array(memberOf(stringText, valueText), { maxLength: 5 }),
        space,
        (before, members, after) => {
          const object = objectText(members);
          const start = Buffer.byteLength(before);
          let at = start + 1;
          const expected = members.map((member) => {
            const keyStart = at + Buffer.byteLength(member.beforeKey);
            const valueStart =
              keyStart + Buffer.byteLength(member.key.text + member.beforeColon + member.beforeValue) + 1;
            at += Buffer.byteLength(memberText(member)) + 1;
            return {
              key: member.key.value,
              kind: kindOf(member.value),
              valueStart,
              valueEnd: valueStart + Buffer.byteLength(member.value),
            };
          });
          const { longValues: _, ...outline } = scan(before + object + after);
          assert.deepEqual(outline, {
            kind: 'object',
            start,
            end: start + Buffer.byteLength(object),
            members: expected,
          });
        },
      ),
      { numRuns: propertyRuns(400) },
    );
  });

  it('reports the offsets of long values below the outermost one, ordered by their beginnings', () => {
    const [long, short] = [JSON.stringify('x\\"'.repeat(20)), JSON.stringify('x'.repeat(30))];
    const list = `[${short},[[1],${long}],{"a":${long} }]`;
    const text = `{"a":${short},"b":${list},"c":[{"d":[]}],${long}:${long}}`;
    const { longValues } = scan(text);
    const values = [list, `[[1],${long}]`, long, `{"a":${long} }`, long, long];
    const found = values.map((_, i) => text.slice(longValues[2 * i], longValues[2 * i + 1]));
    assert.deepEqual(found, values);
    assert.equal(longValues.length, 2 * values.length);
    assert.deepEqual(
      longValues.filter((_, i) => i % 2 === 0),
      longValues.filter((_, i) => i % 2 === 0).toSorted((left, right) => left - right),
    );
  });

  it('records a limited number of long values correctly, however many there are', () => {
    const count = 70_000;
    const inner = JSON.stringify('x'.repeat(31));
    const text = `[${Array(count).fill(inner).join()}]`;
    const { longValues } = scan(text);
    assert.equal(longValues.length, 2 ** 17);
    assert.equal(text.slice(longValues[0], longValues[1]), text);
    assert.equal(text.slice(longValues.at(-2), longValues.at(-1)), inner);
  });

  it('reports every copy of a key, however its letters are escaped', () => {
    const { members } = scan('{"model":1,"\\u006dodel":2,"mod\\u0065l":3}');
    assert.deepEqual(
      members.map(({ key, valueStart }) => [key, valueStart]),
      [
        ['model', 9],
        ['model', 24],
        ['model', 39],
      ],
    );
  });

  it('does not report the members of nested objects', () => {
    assert.deepEqual(
      scan('{"a":{"model":1},"b":[{"model":2}]}').members.map(({ key }) => key),
      ['a', 'b'],
    );
  });

  it('has no members if the outermost value is not an object', () => {
    for (const text of ['[{"a":1}]', '"a"', '1', 'true', 'false', 'null']) {
      assert.deepEqual(scan(text).members, [], text);
      assert.equal(scan(text).kind, kindOf(text));
    }
  });

  it('refuses every truncation of an object', () => {
    fc.assert(
      fc.property(fc.array(memberOf(stringText, valueText), { maxLength: 3 }), (members) => {
        const bytes = Buffer.from(objectText(members));
        for (let end = 0; end < bytes.length; end++) {
          assert.throws(() => scanJson(bytes, 0, end), JsonSyntaxError, `${end} of ${bytes.length} bytes`);
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('reads nothing outside the range that it is given', () => {
    const bytes = Buffer.from('[{"a":1}, 12345, "x", {"b" : 2');
    assert.equal(scanJson(bytes, 1, 8).kind, 'object');
    assert.deepEqual(
      scanJson(bytes, 1, 8).members.map(({ valueStart, valueEnd }) => bytes.toString('utf8', valueStart, valueEnd)),
      ['1'],
    );
    assert.deepEqual(scanJson(bytes, 10, 12), { kind: 'number', start: 10, end: 12, members: [], longValues: [] });
    assert.throws(() => scanJson(bytes, 1, 7), JsonSyntaxError);
    assert.throws(() => scanJson(bytes, 17, 19), JsonSyntaxError);
  });

  it('ignores all bytes around the range', () => {
    const outcome = (bytes: Buffer, start: number, end: number): object => {
      try {
        const { kind, members, ...place } = scanJson(bytes, start, end);
        const shifted = members.map(({ valueEnd }) => valueEnd - start);
        return { kind, start: place.start - start, end: place.end - start, members: shifted };
      } catch (error) {
        assert.ok(error instanceof JsonSyntaxError);
        return { message: error.message, offset: error.offset - start };
      }
    };
    fc.assert(
      fc.property(valueText, fc.constantFrom('', ' ', '{', '[1,'), (text, before) => {
        const bytes = Buffer.from(before + text);
        const start = before.length;
        for (let end = start; end <= bytes.length; end++) {
          const alone = bytes.subarray(start, end);
          assert.deepEqual(outcome(bytes, start, end), outcome(alone, 0, alone.length));
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('refuses a megabyte of open brackets without overflowing, whatever the limit', () => {
    const arrays = Buffer.alloc(2 ** 20, '[');
    const objects = Buffer.from('{"a":'.repeat(200_000));
    for (const bytes of [arrays, objects]) {
      assert.throws(() => scanJson(bytes), { name: 'JsonLimitError', message: /deeper than 256 levels/ });
      const boundless = { depthMax: Number.MAX_SAFE_INTEGER, valuesMax: Number.MAX_SAFE_INTEGER, membersMax: 10 };
      assert.throws(() => scanJson(bytes, 0, bytes.length, boundless), { message: 'the text ends too early' });
    }
  });

  it('counts every container towards the depth, including the outermost and empty ones', () => {
    const { depthMax } = defaultJsonScanLimits;
    const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    const numbers = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    for (const nested of [arrays, objects, numbers]) {
      assert.equal(isAccepted(nested(depthMax)), true);
      assert.throws(() => scan(nested(depthMax + 1)), { message: /deeper than 256 levels/ });
    }
  });

  it('counts every value at any depth, and refuses the first one beyond the limit', () => {
    const items = (item: string, count: number) => `[${`${item},`.repeat(count - 1)}${item}]`;
    const most = defaultJsonScanLimits.valuesMax;
    assert.ok(most >= 1_000_000);
    for (const [text, item, valuesEach, valuesMax = 1_000] of [
      ['by default', '0', 1, most],
      ['[]', '[]', 1],
      ['{}', '{}', 1],
      ['1', '-1.5e3', 1],
      ['words', 'null', 1],
      ['strings', '"[,{"', 1],
      ['objects', '{"9":0}', 2],
      ['lists', '[[],{}]', 3],
    ] as const) {
      const count = Math.floor((valuesMax - 2) / valuesEach);
      const limited = (list: string) =>
        scanJson(Buffer.from(list), 0, list.length, { ...defaultJsonScanLimits, valuesMax });
      for (const wrap of [(list: string) => list, (list: string) => `{"input":${list}}`]) {
        assert.doesNotThrow(() => limited(wrap(items(item, count))), text);
        assert.throws(
          () => limited(wrap(items(item, count + 2))),
          { name: 'JsonLimitError', message: `the text has more than ${valuesMax} values` },
          text,
        );
      }
    }
  });

  it('throws JsonStepsError if values, escapes and long keys exceed the steps', () => {
    const given = (text: string) =>
      scanJson(Buffer.from(text), 0, text.length, { ...defaultJsonScanLimits, stepsMax: 12 });
    for (const [most, more] of [
      ['[1,2]', '[1,2,3]'],
      ['[[],{}]', '[[],{},[]]'],
      ['{"a":"b","c":""}', '{"a":"\\n","c":""}'],
      [`"${'\\"'.repeat(8)}"`, `"${'\\"'.repeat(13)}"`],
      [`["${'\\u0041'.repeat(4)}"]`, `["${'\\u0041'.repeat(4)}",""]`],
      [`{"${'k'.repeat(62)}":1}`, `{"${'k'.repeat(63)}":1}`],
      [`[{"${'k'.repeat(62)}":1}]`, `[{"${'k'.repeat(63)}":1}]`],
    ] as const) {
      assert.doesNotThrow(() => given(most), most);
      assert.throws(() => given(more), JsonStepsError, more);
    }
  });

  it('counts the values of all members together', () => {
    const limits = { depthMax: 10, valuesMax: 6, membersMax: 10 };
    const withLimits = (text: string) => scanJson(Buffer.from(text), 0, text.length, limits);
    assert.equal(withLimits('{"a":[1,2],"b":{"c":3}}').members.length, 2);
    assert.throws(() => withLimits('{"a":[1,2],"b":{"c":3,"d":4}}'), JsonLimitError);
    assert.throws(() => withLimits('{"a":[1,2],"b":{"c":3},"d":4}'), JsonLimitError);
    assert.equal(withLimits('[1,[2],3,4]').kind, 'array');
    assert.throws(() => withLimits('[1,[2],3,4,5]'), JsonLimitError);
  });

  it('does not count adjacent containers towards the depth', () => {
    assert.equal(isAccepted(`[${Array(2_000).fill('[{"a":[]}]').join(',')}]`), true);
  });

  it('limits the members of the outermost object only', () => {
    const limits = { depthMax: 10, valuesMax: 10, membersMax: 3 };
    const withLimits = (text: string) => scanJson(Buffer.from(text), 0, text.length, limits);
    assert.equal(withLimits('{"a":1,"b":2,"c":3}').members.length, 3);
    assert.equal(withLimits('{"a":{"a":1,"b":2,"c":3,"d":4}}').members.length, 1);
    assert.throws(() => withLimits('{"a":1,"b":2,"c":3,"d":4}'), { message: /more than 3 members/ });
  });

  const places: readonly [text: string, offset: number, message: string][] = [
    ['', 0, 'the text is empty'],
    [' \n', 2, 'the text is empty'],
    ['{"a":1} x', 8, 'there is more text after the end of the value'],
    ['{"a" 1}', 5, 'a colon is expected here'],
    ['{"a":1 "b":2}', 7, 'a comma is expected here'],
    ['{a:1}', 1, 'a string is expected here'],
    ['{"a":1,}', 7, 'a string is expected here'],
    ['[1,]', 3, 'a value is expected here'],
    ['[1', 2, 'the text ends too early'],
    ['["a\u0001"]', 3, 'a string contains an unescaped control character'],
    ['["\\q"]', 2, 'an escape sequence is unknown'],
    ['["\\u00"]', 2, '\\u is not followed by four hexadecimal digits'],
    ['["abc', 1, 'a string does not end'],
    ['[tru]', 1, 'a value is expected here'],
    ['[-]', 2, 'a digit is expected here'],
  ];
  for (const [text, offset, message] of places) {
    it(`reports at byte ${offset} of ${JSON.stringify(text)}: ${message}`, () => {
      assert.throws(() => scan(text), { name: 'JsonSyntaxError', message, offset });
    });
  }
});
