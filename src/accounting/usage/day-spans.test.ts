import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DaySpan, daySpans, type SpanUnit } from './day-spans.ts';

const ALL = { from: null, to: null };

/** The spans, if each has `groupsOf` groups. */
function spansOf(
  unit: SpanUnit,
  whole: DaySpan,
  known: { first: string; last: string } | null,
  groupsOf: (span: DaySpan) => number,
): string[] {
  const spans = daySpans(unit, whole, known, 100);
  const found: string[] = [];
  for (let next = spans.next(0); !next.done; next = spans.next(groupsOf(next.value))) {
    found.push(`${next.value.from ?? ''}..${next.value.to ?? ''}`);
  }
  return found;
}

describe('spans of days', () => {
  it('double while they have few groups, and halve if they have many', () => {
    const busy = (span: DaySpan) => ((span.from ?? '') >= '2026-01-08' ? 150 : 3);
    assert.deepEqual(spansOf('day', ALL, { first: '2026-01-01', last: '2026-01-20' }, busy), [
      '..2026-01-02',
      '2026-01-02..2026-01-04',
      '2026-01-04..2026-01-08',
      '2026-01-08..2026-01-16',
      '2026-01-16..2026-01-20',
      '2026-01-20..',
    ]);
  });

  it('cover the requested days, whichever days have sums', () => {
    const known = { first: '2026-01-01', last: '2026-01-03' };
    const asked = (from: string | null, to: string | null) => spansOf('day', { from, to }, known, () => 50);
    assert.deepEqual(asked('2026-01-02', '2026-01-03'), ['2026-01-02..2026-01-03']);
    assert.deepEqual(asked('2025-01-01', '2026-01-02'), ['2025-01-01..2026-01-02']);
    assert.deepEqual(asked('2027-01-01', null), ['2027-01-01..']);
    assert.deepEqual(asked(null, '2026-01-03'), ['..2026-01-02', '2026-01-02..2026-01-03']);
    assert.deepEqual(
      spansOf('day', ALL, null, () => 50),
      ['..'],
    );
    assert.deepEqual(
      spansOf('day', { from: '2026-01-01', to: '2026-02-01' }, null, () => 50),
      ['2026-01-01..2026-02-01'],
    );
  });

  it('are whole months if groups are by month', () => {
    assert.deepEqual(
      spansOf('month', ALL, { first: '2025-12-31', last: '2026-02-03' }, () => 50),
      ['..2026-01-01', '2026-01-01..2026-02-01', '2026-02-01..'],
    );
  });
});
