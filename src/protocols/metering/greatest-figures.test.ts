import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { greatestFigures } from './greatest-figures.ts';

/** Compares as JSON, since the result has no prototypes. */
const merged = (...reports: unknown[]): unknown =>
  JSON.parse(JSON.stringify(reports.reduce((before, report) => greatestFigures(before, report)) ?? null));

describe('the maximum figures of several reports', () => {
  const rows: readonly [what: string, reports: unknown[], result: unknown][] = [
    ['one report', [{ a: 3 }], { a: 3 }],
    [
      'zeros after actual figures',
      [
        { a: 11, b: 7 },
        { a: 0, b: 0 },
      ],
      { a: 11, b: 7 },
    ],
    ['a decreasing figure', [{ a: 5 }, { a: 9 }, { a: 2 }], { a: 9 }],
    [
      'each member separately',
      [
        { a: 5, b: 1 },
        { a: 2, b: 8 },
      ],
      { a: 5, b: 8 },
    ],
    ['members that appear later', [{ a: 5 }, { b: 8 }], { a: 5, b: 8 }],
    ['details', [{ d: { x: 3, y: 1 } }, { d: { x: 1, y: 4 } }], { d: { x: 3, y: 4 } }],
    ['details that appear later or are null', [{ d: null }, { d: { x: 1 } }, { d: null }], { d: { x: 1 } }],
    ['lists, item by item', [{ i: [{ n: 3 }] }, { i: [{ n: 1 }, { n: 2 }] }], { i: [{ n: 3 }, { n: 2 }] }],
    ['strings, of which the last counts', [{ t: 'auto' }, { t: 'flex' }], { t: 'flex' }],
    [
      'invalid values, which are replaced',
      [
        { a: -1, b: 7 },
        { a: 4, b: 'x' },
        { a: 1.5, b: 2 ** 31 },
      ],
      { a: 4, b: 7 },
    ],
    ['only invalid values', [{ a: -1 }, { a: 'x' }], { a: 'x' }],
    [
      'counts in strings',
      [
        { a: '9', b: 4 },
        { a: '10', b: '3' },
      ],
      { a: 10, b: 4 },
    ],
    ['null', [null, { a: 1 }, null], { a: 1 }],
    ['a report that is not an object', [{ a: 1 }, 'none'], 'none'],
  ];
  for (const [what, reports, result] of rows)
    it(`are correct for ${what}`, () => assert.deepEqual(merged(...reports), result));

  it('do not depend on the order of reports', () => {
    const report = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.nat());
    fc.assert(
      fc.property(fc.array(report, { minLength: 1, maxLength: 5 }), (reports) => {
        assert.deepEqual(merged(...reports), merged(...reports.toReversed()));
      }),
    );
  });

  it('have a limited number of members, however many a provider adds', () => {
    let held: unknown = { total: 5 };
    for (let i = 0; i < 1_000; i++) held = greatestFigures(held, { [`invented${i}`]: i, total: 5 + i });
    assert.equal(Object.keys(held as object).length, 128);
    assert.equal((held as { total: number }).total, 1_004);
  });
});
