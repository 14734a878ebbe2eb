import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { LatencyGroup } from '../../console/src/api/types.ts';
import { greatestMs, writeMeasure, writeSpeed } from '../../console/src/features/latency/measures.ts';
import { sparkPoints } from '../../console/src/parts/spark-points.ts';
import { type Placed, placesOf } from '../../console/src/parts/usage/color-places.ts';
import { formatOf } from '../../console/src/text/written.ts';

const format = formatOf('en-GB', 'Asia/Shanghai');

describe('the colours of a chart', () => {
  it('are those of earlier charts, whatever the order', () => {
    const first = placesOf(['chat', 'images', 'rerank'], [], 8);
    assert.deepEqual([...first.places.values()], [0, 1, 2]);
    const second = placesOf(['rerank', 'other', 'chat'], first.next, 8);
    assert.deepEqual(
      [...second.places],
      [
        ['rerank', 2],
        ['chat', 0],
        ['other', 3],
      ],
    );
  });

  it('differ within a chart, and stay the same as long as no two known parts collide', () => {
    const anyIds = fc.uniqueArray(fc.integer({ min: 0, max: 30 }).map(String), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(anyIds, { maxLength: 12 }), (charts) => {
        let known: readonly Placed[] = [];
        for (const ids of charts) {
          const before = new Map(known);
          const { places, next } = placesOf(ids, known, 5);
          assert.equal(new Set(places.values()).size, ids.length);
          const wanted = ids.map((id) => before.get(id));
          for (const [i, id] of ids.entries()) {
            if (wanted[i] !== undefined && wanted.indexOf(wanted[i]) === i) assert.equal(places.get(id), wanted[i]);
          }
          known = next;
        }
      }),
    );
  });
});

describe('an axis of latency', () => {
  const group = (p95: number): LatencyGroup => ({
    attempts: 1,
    errors: 0,
    refused: 0,
    errorRatio: 0,
    durationMs: { p50: 400, p95 },
    firstByteMs: { p50: null, p95: null },
    outputTokens: 0,
    tokensPerSecond: null,
  });

  it('has one unit, which the greatest value decides', () => {
    const write = (groups: readonly LatencyGroup[]) =>
      [0, 400, 3_500, 14_000].map((ms) => writeMeasure(ms, 'duration', greatestMs(groups, 'durationMs'), format));
    assert.deepEqual(write([group(500), group(900)]), ['0 ms', '400 ms', '3,500 ms', '14,000 ms']);
    assert.deepEqual(write([group(500), group(14_000)]), ['0 s', '0.4 s', '3.5 s', '14 s']);
    assert.equal(greatestMs([group(900)], 'firstByteMs'), 0);
  });

  it('names hours in the display time zone, with their day if there are several', () => {
    const at = '2026-11-30T16:00:00Z';
    assert.equal(format.hour(at, false), '00:00');
    assert.equal(format.hour(at, true), '1 Dec, 00:00');
    assert.equal(formatOf('zh-CN', 'UTC').hour(at, true), '11月30日 16:00');
  });
});

describe('rounded figures', () => {
  it('have at least three significant digits', () => {
    assert.deepEqual(
      [0, 0.0075, 0.25, 0.12345, -0.0001234, 12.3456].map((ratio) => format.percent(ratio)),
      ['0%', '0.75%', '25%', '12.3%', '−0.0123%', '1,234.6%'],
    );
    assert.deepEqual(
      [3, 862, 999.6, 3_386, 65_432].map((ms) => format.duration(ms)),
      ['3 ms', '862 ms', '1,000 ms', '3.39 s', '65.4 s'],
    );
    assert.deepEqual(
      [0.456, 9.876, 92.54, 1_234.5].map((speed) => writeSpeed(speed, format)),
      ['0.456', '9.88', '92.5', '1,235'],
    );
  });
});

describe('a sparkline', () => {
  it('runs from the first value to the last one, on a scale that includes zero', () => {
    assert.deepEqual(sparkPoints([0, 5, 10], 100, 20, 0), [
      [0, 20],
      [50, 10],
      [100, 0],
    ]);
    assert.deepEqual(sparkPoints([-10, 10], 100, 20, 0), [
      [0, 20],
      [100, 0],
    ]);
    assert.deepEqual(sparkPoints([0, 0], 100, 20, 0), [
      [0, 20],
      [100, 20],
    ]);
  });
});
