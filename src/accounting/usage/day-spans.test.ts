import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DaySpan, daySpans, type SpanUnit } from './day-spans.ts';

const ALL = { from: null, to: null };

/** The spans where each has as many groups as `groupsOf` says. */
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
  it('grow if little is in them, and become shorter if there is much', () => {
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

  it('are all that is asked for, whatever is known', () => {
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

  it('are whole months if groups are of months', () => {
    assert.deepEqual(
      spansOf('month', ALL, { first: '2025-12-31', last: '2026-02-03' }, () => 50),
      ['..2026-01-01', '2026-01-01..2026-02-01', '2026-02-01..'],
    );
  });
});
