import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookThrough, nextRows, UNHURRIED } from './slices.ts';

/** Rows 0 to 9,999, some of which are items according to `isItem`. */
function table(isItem: (row: number) => boolean, reads: number[], size = 10_000) {
  return async (behind: string | null, rows: number, wanted: number) => {
    reads.push(rows);
    const first = behind === null ? 0 : Number(behind) + 1;
    const slice = Array.from({ length: Math.min(rows, size - first) }, (_, i) => first + i);
    const items = slice.filter(isItem).slice(0, wanted);
    const last = items.length === wanted ? items.at(-1) : slice.length < rows ? undefined : slice.at(-1);
    return { items, next: last === undefined ? null : String(last) };
  };
}

describe('lookThrough', () => {
  it('stops at the limit of items, and continues after the last one', async () => {
    const reads: number[] = [];
    const read = table((row) => row % 700 === 0, reads);
    const query = { limit: 3, isExact: false };
    const first = await lookThrough({ ...query, start: null }, UNHURRIED, read);
    assert.deepEqual(first, { items: [0, 700, 1400], next: '1400' });
    assert.deepEqual(reads, [500, 1000]);
    const second = await lookThrough({ ...query, start: first.next }, UNHURRIED, read);
    assert.deepEqual(second, { items: [2100, 2800, 3500], next: '3500' });
  });

  it('reads only as many rows as it needs if each row is an item', async () => {
    const reads: number[] = [];
    const found = await lookThrough(
      { start: null, limit: 3, isExact: true },
      UNHURRIED,
      table(() => true, reads),
    );
    assert.deepEqual([found, reads], [{ items: [0, 1, 2], next: '2' }, [3]]);
  });

  it('returns no cursor after the last row', async () => {
    const found = await lookThrough(
      { start: null, limit: 3, isExact: false },
      UNHURRIED,
      table((row) => row === 9_999, []),
    );
    assert.deepEqual(found, { items: [9_999], next: null });
  });

  it('stops when its time is over, with the cursor after the last scanned row', async () => {
    let nowMs = 0;
    const reads: number[] = [];
    const read = table(() => false, reads, 1_000_000);
    const timing = { nowMs: () => nowMs, budgetMs: 80 };
    const found = await lookThrough({ start: null, limit: 3, isExact: false }, timing, (...asked) => {
      nowMs += 30;
      return read(...asked);
    });
    // Each page took longer than it should.
    assert.deepEqual([found, reads], [{ items: [], next: '874' }, [500, 250, 125]]);
  });

  it('halves pages that take long, and doubles fast ones, within limits', () => {
    assert.deepEqual(
      [
        [500, 1],
        [500, 15],
        [500, 21],
        [10_000, 1],
        [100, 5_000],
      ].map(([rows, tookMs]) => nextRows(rows!, tookMs!)),
      [1_000, 500, 250, 10_000, 100],
    );
  });
});
