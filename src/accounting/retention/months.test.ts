import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { boundsOf, firstMonthKept, monthOf, monthsToDrop } from './months.ts';

const DAY_MS = 86_400_000;
const MONTHS = Array.from({ length: 72 }, (_, n) => new Date(Date.UTC(2021, n, 1)).toISOString().slice(0, 10));

const instant = fc.integer({ min: Date.UTC(2021, 0, 1), max: Date.UTC(2027, 0, 1) });
const kept = fc.integer({ min: DAY_MS, max: 900 * DAY_MS });

describe('the months that go', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it('are those that ended as long ago as records are kept, or longer', () => {
    const nowMs = Date.parse('2026-03-15T10:00:00Z');
    assert.deepEqual(monthsToDrop(['2026-03-01', '2025-12-01', '2026-02-01', '2026-01-01'], nowMs, 30 * DAY_MS), [
      '2025-12-01',
      '2026-01-01',
    ]);
    // January has ended 42 days and ten hours ago.
    assert.deepEqual(monthsToDrop(['2026-01-01'], nowMs, 42 * DAY_MS + 10 * 3_600_000), ['2026-01-01']);
    assert.deepEqual(monthsToDrop(['2026-01-01'], nowMs, 42 * DAY_MS + 10 * 3_600_000 + 1), []);
    assert.equal(firstMonthKept(nowMs, 400 * DAY_MS), '2025-02-01');
  });

  it('have no record that is younger, and those that stay have one that may be', () => {
    fc.assert(
      fc.property(instant, kept, fc.nat(DAY_MS * 32), (nowMs, keptMs, offsetMs) => {
        const gone = monthsToDrop(MONTHS, nowMs, keptMs);
        for (const month of gone) {
          const { fromMs, toMs } = boundsOf(month);
          const startedAtMs = Math.min(fromMs + offsetMs, toMs - 1);
          assert.equal(monthOf(startedAtMs), month);
          assert.ok(nowMs - startedAtMs > keptMs, month);
        }
        for (const month of MONTHS.filter((each) => !gone.includes(each))) {
          assert.ok(nowMs - (boundsOf(month).toMs - 1) <= keptMs, month);
        }
      }),
    );
  });

  it('are the same ones in every time zone, and more of them only as time goes by or records are kept shorter', () => {
    fc.assert(
      fc.property(
        instant,
        kept,
        fc.nat(400 * DAY_MS),
        fc.constantFrom('UTC', 'Asia/Shanghai', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Europe/Berlin'),
        (nowMs, keptMs, laterMs, timezone) => {
          process.env.TZ = 'UTC';
          const gone = monthsToDrop(MONTHS, nowMs, keptMs);
          process.env.TZ = timezone;
          assert.deepEqual(monthsToDrop(MONTHS.toReversed(), nowMs, keptMs), gone);
          assert.deepEqual(monthsToDrop(MONTHS, nowMs + laterMs, keptMs).slice(0, gone.length), gone);
          assert.deepEqual(
            monthsToDrop(MONTHS, nowMs, keptMs + laterMs),
            gone.slice(0, monthsToDrop(MONTHS, nowMs, keptMs + laterMs).length),
          );
        },
      ),
    );
  });
});
