import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, nameText, objectText, space, valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { isRecord } from './json.ts';
import { type JsonParts, parseJsonParts } from './json-parts.ts';

/**
 * Names that begin with letters that no other key of these tests begins with: the engine's `JSON.parse` confuses a key with
 * escapes with an earlier key that contains a backslash and begins with the same characters. Runs in a separate process,
 * because keys of other files would have the same effect.
 */
const parts: JsonParts = { kind: true, list: { kind: true, part: { kind: true } }, part: { list: true } };

/** The wanted parts of a parsed value. */
function pick(value: unknown, wanted: JsonParts): unknown {
  if (wanted === true) return value;
  if (Array.isArray(value)) {
    return value
      .filter(isRecord)
      .map((item) => pick(item, wanted) as object)
      .filter((item) => Object.keys(item).length > 0);
  }
  if (!isRecord(value)) return null;
  const names = Object.keys(wanted).filter((name) => Object.hasOwn(value, name));
  return Object.fromEntries(names.map((name) => [name, pick(value[name], wanted[name]!)]));
}

function parsed(text: string): unknown {
  try {
    return { value: pick(JSON.parse(text), parts) };
  } catch {
    return undefined;
  }
}

function assertAsParsed(bytes: Buffer): void {
  const text = bytes.toString('utf8');
  const expected = parsed(text);
  const value = parseJsonParts(bytes, parts);
  assert.deepEqual(value === undefined ? undefined : { value: plain(value) }, plain(expected), text);
}

/** A normal form in which objects with the same members are equal. */
function plain(value: unknown): unknown {
  return structuredClone(value);
}

const wantedKey = fc.constantFrom('kind', 'list', 'part').chain(keySpelling);
const otherKey = fc.oneof(
  fc
    .constantFrom('__proto__', 'toString', 'kindly', '', 'Kind')
    .map((value) => ({ text: JSON.stringify(value), value })),
  nameText,
);
const key = fc.oneof({ arbitrary: wantedKey, weight: 4 }, otherKey);

/** Nested objects and arrays, with the wanted keys in any spelling and number at every depth. */
const nested = fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, valueText, tie('object'), tie('list')),
  object: fc.array(memberOf(key, tie('value')), { minLength: 1, maxLength: 5 }).map(objectText),
  list: fc
    .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
}));
const text = fc.tuple(space, nested.object, space).map((all) => all.join(''));

describe('parseJsonParts', () => {
  it('reads only the wanted parts, as JSON.parse does', () => {
    fc.assert(
      fc.property(text, (json) => assertAsParsed(Buffer.from(json))),
      { numRuns: propertyRuns(1200) },
    );
  });

  it('reads other values and items of arrays as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.oneof(valueText, nested.list), (json) => assertAsParsed(Buffer.from(json))),
      { numRuns: propertyRuns(1500) },
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const damage = fc.tuple(fc.nat(), fc.constantFrom(...'{}[],:"\\0-+.eEtfnu \n\u0000é', ''));
    fc.assert(
      fc.property(text, damage, (json, [seed, letter]) => {
        const at = seed % json.length;
        assertAsParsed(Buffer.from(json.slice(0, at) + letter + json.slice(at + 1)));
      }),
      { numRuns: propertyRuns(1500) },
    );
    for (const broken of [
      '',
      ' ',
      '{',
      '{"kind":1',
      '{"kind":1}}',
      '{"kind":1,}',
      '{"list":{"kind":tru}}',
      '\ufeff{}',
      '{"x":"\n"}',
    ]) {
      assert.equal(parseJsonParts(Buffer.from(broken), parts), undefined, broken);
    }
  });

  it('reads invalid UTF-8 as a decoder does', () => {
    const bytes = fc.uint8Array({ maxLength: 12 });
    fc.assert(
      fc.property(bytes, bytes, (left, right) => {
        const inString = Buffer.concat([
          Buffer.from('{"kind":"'),
          left,
          Buffer.from('","x'),
          right,
          Buffer.from('":1}'),
        ]);
        assertAsParsed(inString);
        assertAsParsed(Buffer.concat([Buffer.from(left), Buffer.from('{"kind":1}')]));
      }),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('uses the last member of a name in any spelling', () => {
    const read = (json: string): unknown => parseJsonParts(Buffer.from(json), parts);
    assert.deepEqual(read('{"kind":1,"\\u006bind":2}'), { kind: 2 });
    assert.deepEqual(read('{"list":{"kind":1,"part":{"kind":5}},"list":{"kind":2}}'), { list: { kind: 2 } });
    assert.deepEqual(read('{"list":{"kind":1},"list":7}'), { list: null });
    assert.deepEqual(read('{"kind":"\\"list\\":{\\"kind\\":1}","x":{"list":{"kind":1}}}'), {
      kind: '"list":{"kind":1}',
    });
  });

  it('finds the end of strings of any length and content', () => {
    for (let length = 0; length < 200; length++) {
      for (const end of ['', '\\\\', '\\"', '\\\\\\"', '\\\\\\\\', '\\u00e9', '{}[],:']) {
        const value = `"${'x'.repeat(length)}${end}"`;
        assertAsParsed(Buffer.from(`{"x":${value},${value}:0,"kind":${value},"list":{"y":[${value}],"kind":1}}`));
      }
    }
  });

  it('reads up to ten thousand levels', () => {
    const deep = (levels: number): Buffer => Buffer.from(`{"x":${'['.repeat(levels)}${']'.repeat(levels)},"kind":1}`);
    assert.deepEqual(parseJsonParts(deep(9_999), parts), { kind: 1 });
    assert.equal(parseJsonParts(deep(10_000), parts), undefined);
  });
});
