import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dayAfter, dayIn, dayStart, daysOf, isDay, lastDays, usageRange } from '../../console/src/parts/days.ts';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import { propertyRuns } from '../support/scope.ts';

/** Zones with summer time, with half-hour offsets, far from UTC, and one that skipped a day (30 December 2011). */
const zones = fc.constantFrom(
  ...['Asia/Shanghai', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'Pacific/Kiritimati', 'UTC'],
);
const instants = fc.integer({ min: Date.parse('2011-12-01T00:00Z'), max: Date.parse('2030-01-01T00:00Z') });

describe('days in the console', () => {
  it("match the gateway's days and day starts in any time zone", () => {
    fc.assert(
      fc.property(zones, instants, (zone, ms) => {
        const calendar = createLocalTime(zone);
        const day = calendar.day(ms);
        assert.equal(dayIn(zone, ms), day);
        assert.equal(dayStart(day, zone), new Date(calendar.dayStartMs(day)).toISOString());
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('start with the next day if the time zone skipped them', () => {
    assert.equal(dayStart('2011-12-30', 'Pacific/Apia'), dayStart('2011-12-31', 'Pacific/Apia'));
  });

  it("of a range have the chosen number, whatever their length and the browser's time zone", () => {
    // In New York 1 November 2026 has 25 hours, so the instant 24 hours before its end is on the same day.
    assert.deepEqual(lastDays(2, '2026-11-01'), { from: '2026-10-31', to: '2026-11-01' });
    assert.deepEqual(lastDays(1, '2026-03-01'), { from: '2026-03-01', to: '2026-03-01' });
    assert.deepEqual(daysOf(lastDays(3, '2024-03-01')), ['2024-02-28', '2024-02-29', '2024-03-01']);
    assert.deepEqual(usageRange({ from: '2026-12-31', to: '2026-12-31' }), { from: '2026-12-31', to: '2027-01-01' });
    assert.equal(dayAfter('2026-02-28'), '2026-03-01');
  });

  it('in an address are accepted if they exist', () => {
    for (const day of ['2026-11-23', '2024-02-29']) assert.ok(isDay(day), day);
    for (const text of [undefined, '', '2026-13-01', '2026-02-30', '2026-1-1', '12026-01-01', '0000-01-01', 'today']) {
      assert.ok(!isDay(text), text);
    }
  });
});
