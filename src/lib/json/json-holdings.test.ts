import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { isRecord } from './json.ts';
import { JsonCapture } from './json-capture.ts';
import type { HoldingRules } from './json-holdings.ts';

const rules: HoldingRules<'a' | 'b'> = {
  places: ['data', 'list'],
  outer: { a: ['x', 'y'], b: ['z'] },
  items: { a: ['x', 'é"'], b: ['data', 'z'] },
};

function holdingsOf(text: string, cut: readonly number[] = []): [a: number, b: number] {
  const bytes = Buffer.from(text);
  const capture = new JsonCapture({ keep: ['x'], count: ['data'], holding: rules, keptBytesMax: 100 });
  const edges = [0, ...cut.map((at) => at % (bytes.length + 1)).toSorted((left, right) => left - right), bytes.length];
  for (const [i, edge] of edges.slice(1).entries()) {
    // A chunk is overwritten after it was read, as a socket's buffer may be.
    const chunk = Buffer.from(bytes.subarray(edges[i], edge));
    capture.push(chunk);
    chunk.fill('"');
  }
  capture.end();
  return [capture.holding('a'), capture.holding('b')];
}

/** The same counts from the parsed text. */
function parsedHoldings(value: unknown): [a: number, b: number] {
  if (!isRecord(value)) return [0, 0];
  const isSomething = (found: unknown): boolean =>
    found !== undefined && found !== null && found !== false && JSON.stringify(found).length > 2;
  const most = (group: 'a' | 'b'): number => {
    const holds = (item: unknown, names: readonly string[]): boolean =>
      isRecord(item) && names.some((name) => Object.hasOwn(item, name) && isSomething(item[name]));
    const inPlaces = rules.places.map((place) => {
      const found = Object.hasOwn(value, place) ? value[place] : null;
      const items = Array.isArray(found) ? found : isRecord(found) ? [found] : [];
      return items.filter((item) => holds(item, rules.items[group])).length;
    });
    return Math.max(holds(value, rules.outer[group]) ? 1 : 0, ...inPlaces);
  };
  return [most('a'), most('b')];
}

describe('JsonHoldings', () => {
  it('counts as in the parsed text, for any nesting, spelling and chunks', () => {
    const key = fc.constantFrom('x', 'y', 'z', 'é"', 'data', 'list', 'other');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom<unknown>(null, true, false, '', 'text', 'x', 0, 123),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }));
    const place = fc.oneof(fc.array(fc.dictionary(key, value), { maxLength: 4 }), value);
    const body = fc.oneof(fc.record({ data: place, list: place, x: value, z: value }, { requiredKeys: [] }), value);
    const spelling = fc.constantFrom(
      (text: string) => text,
      (text: string) => text.replaceAll('"x"', '"\\u0078"').replaceAll('é', '\\u00e9'),
    );
    const cuts = fc.oneof(fc.constant([]), fc.array(fc.nat(), { maxLength: 40 }));
    fc.assert(
      fc.property(body, spelling, fc.constantFrom(0, 1), cuts, (tree, spell, indent, cut) => {
        const text = spell(JSON.stringify(tree, null, indent));
        assert.deepEqual(holdingsOf(text, cut), parsedHoldings(tree), text);
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('uses the last member of a name', () => {
    assert.deepEqual(holdingsOf('{"data":[{"x":"1"},{"x":"1"}],"data":[{"x":"1"}],"z":"text","z":null}'), [1, 0]);
  });

  it('counts values of any size, byte by byte', () => {
    const text = `{"data":[{"x":"${'AAAA'.repeat(500)}"},{"z":"v"},{"x":null},{"\\u0078":"v"}],"y":""}`;
    for (let at = 0; at <= Buffer.byteLength(text); at++) assert.deepEqual(holdingsOf(text, [at]), [2, 1], `${at}`);
  });
});
