import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { monthOf, nextMonthOf, nextWeekOf, weekOf } from './billing-periods.ts';
import { createLocalTime } from './local-time.ts';

/** Zones whose days begin late, twice or not at midnight, and both ends of the map. */
const ZONES = [
  'Asia/Shanghai',
  'America/New_York',
  'Europe/London',
  'Asia/Beirut',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Antarctica/Troll',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
] as const;

describe('weeks and months of billing days', () => {
  const days: readonly [day: string, week: string, nextWeek: string, nextMonth: string][] = [
    ['2026-11-22', '2026-11-16', '2026-11-23', '2026-12-01'],
    ['2026-11-23', '2026-11-23', '2026-11-30', '2026-12-01'],
    ['2026-12-31', '2026-12-28', '2027-01-04', '2027-01-01'],
    ['2027-01-01', '2026-12-28', '2027-01-04', '2027-02-01'],
    ['2028-02-28', '2028-02-28', '2028-03-06', '2028-03-01'],
    ['2028-02-29', '2028-02-28', '2028-03-06', '2028-03-01'],
    ['2028-01-31', '2028-01-31', '2028-02-07', '2028-02-01'],
    ['2100-02-28', '2100-02-22', '2100-03-01', '2100-03-01'],
  ];
  for (const [day, week, nextWeek, nextMonth] of days) {
    it(`of ${day} begin on ${week} and end before ${nextWeek} and ${nextMonth}`, () => {
      assert.deepEqual(
        [weekOf(day), monthOf(day), nextWeekOf(day), nextMonthOf(day)],
        [week, `${day.slice(0, 7)}-01`, nextWeek, nextMonth],
      );
    });
  }

  // A budget that resets a moment early would be spent twice in its period.
  it('end exactly: the millisecond before belongs to the old period by the local time of every zone', () => {
    const calendars = new Map(ZONES.map((zone) => [zone, createLocalTime(zone)]));
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2036, 0, 1) }),
        (zone, nowMs) => {
          const local = calendars.get(zone)!;
          const today = local.day(nowMs);
          for (const next of [nextWeekOf(today), nextMonthOf(today)]) {
            const endMs = local.dayStartMs(next);
            assert.ok(endMs > nowMs);
            assert.equal(local.day(endMs), next);
            assert.ok(local.day(endMs - 1) < next);
          }
          const weekday = new Intl.DateTimeFormat('en', { timeZone: zone, weekday: 'long' });
          const weekEndMs = local.dayStartMs(nextWeekOf(today));
          assert.equal(weekday.format(weekEndMs), 'Monday');
          assert.ok(weekEndMs - nowMs <= 7 * 86_400_000 + 2 * 3_600_000);
          assert.equal(local.dayStartMs(local.day(local.nextDayStartMs(nowMs))), local.nextDayStartMs(nowMs));
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('of a day that a zone skipped begin with the next day', () => {
    const apia = createLocalTime('Pacific/Apia');
    assert.equal(new Date(apia.dayStartMs('2011-12-30')).toISOString(), '2011-12-30T10:00:00.000Z');
    assert.equal(apia.dayStartMs('2011-12-31'), apia.dayStartMs('2011-12-30'));
  });
});
