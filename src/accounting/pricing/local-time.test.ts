import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { createLocalTime } from './local-time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const zones = [
  'Asia/Shanghai',
  'America/New_York',
  'Europe/London',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Asia/Beirut',
  'Africa/Cairo',
  'Antarctica/Troll',
  'Pacific/Kiritimati',
  'UTC',
];

const instant = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2040, 0, 1) });
/** Around changes of clocks, where mistakes are likely. */
const instantNearChange = fc
  .tuple(
    fc.constantFrom(
      Date.UTC(2026, 2, 8, 7),
      Date.UTC(2026, 10, 1, 6),
      Date.UTC(2026, 2, 29, 1),
      Date.UTC(2026, 9, 25, 1),
      Date.UTC(2026, 3, 4, 15),
      Date.UTC(2026, 9, 3, 15, 30),
      Date.UTC(2026, 2, 28, 22),
      Date.UTC(2026, 9, 24, 21),
      Date.UTC(2026, 3, 23, 22),
      Date.UTC(2026, 9, 29, 21),
    ),
    fc.integer({ min: -26 * HOUR_MS, max: 26 * HOUR_MS }),
  )
  .map(([change, offset]) => change + offset);

describe('local time', () => {
  it('returns the local day and minute of a zone', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.oneof(instant, instantNearChange), (timeZone, atMs) => {
        const shown = new Date(atMs).toLocaleString('sv-SE', { timeZone });
        const [day, hours, minutes] = [shown.slice(0, 10), Number(shown.slice(11, 13)), Number(shown.slice(14, 16))];
        const localTime = createLocalTime(timeZone);
        assert.equal(localTime.day(atMs), day);
        assert.equal(localTime.minuteOfDay(atMs), hours * 60 + minutes);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('finds the first instant of the next day: the day changes there and not a millisecond before', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.oneof(instant, instantNearChange), (timeZone, atMs) => {
        const localTime = createLocalTime(timeZone);
        const nextMs = localTime.nextDayStartMs(atMs);
        assert.ok(nextMs > atMs && nextMs - atMs <= 26 * HOUR_MS);
        assert.equal(localTime.day(nextMs - 1), localTime.day(atMs));
        assert.ok(localTime.day(nextMs) > localTime.day(atMs));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  for (const [timeZone, at, text] of [
    ['Asia/Shanghai', '2026-11-21T21:13:00Z', '2026-11-22 05:13 +08:00'],
    ['UTC', '2026-11-21T21:13:00Z', '2026-11-21 21:13 +00:00'],
    ['America/St_Johns', '2026-01-01T00:00:00Z', '2025-12-31 20:30 -03:30'],
    ['Europe/Berlin', '2026-03-29T01:00:00Z', '2026-03-29 03:00 +02:00'],
  ] as const) {
    it(`formats an instant with its UTC offset: ${text}`, () => {
      assert.equal(createLocalTime(timeZone).instant(Date.parse(at)), text);
    });
  }

  it('returns the same results whatever is cached', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.array(instantNearChange, { minLength: 2, maxLength: 6 }),
        (zone, times) => {
          const kept = createLocalTime(zone);
          for (const atMs of times) {
            const fresh = createLocalTime(zone);
            assert.equal(kept.minuteOfDay(atMs), fresh.minuteOfDay(atMs));
            assert.equal(kept.nextDayStartMs(atMs), fresh.nextDayStartMs(atMs));
            assert.equal(kept.day(atMs), fresh.day(atMs));
          }
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  });

  const nextDays: readonly [what: string, zone: string, at: string, next: string][] = [
    ['an ordinary day has 24 hours', 'Asia/Shanghai', '2026-03-07T16:00:00Z', '2026-03-08T16:00:00Z'],
    ['the last millisecond of a day', 'Asia/Shanghai', '2026-03-08T15:59:59.999Z', '2026-03-08T16:00:00Z'],
    ['a day of 23 hours', 'America/New_York', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z'],
    ['a day of 25 hours', 'America/New_York', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'],
    ['the hour that comes twice, the first time', 'America/New_York', '2026-11-01T05:30:00Z', '2026-11-02T05:00:00Z'],
    ['the hour that comes twice, the second time', 'America/New_York', '2026-11-01T06:30:00Z', '2026-11-02T05:00:00Z'],
    ['a day of 23 hours in London', 'Europe/London', '2026-03-29T00:00:00Z', '2026-03-29T23:00:00Z'],
    ['a day of 25 hours in London', 'Europe/London', '2026-10-24T23:00:00Z', '2026-10-26T00:00:00Z'],
    ['a day of 24 hours and a half', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', '2026-04-05T13:30:00Z'],
    ['a day of 23 hours and a half', 'Australia/Lord_Howe', '2026-10-03T13:30:00Z', '2026-10-04T13:00:00Z'],
    ['a day of 26 hours', 'Antarctica/Troll', '2026-10-24T22:00:00Z', '2026-10-26T00:00:00Z'],
    [
      'a midnight that is skipped: the day begins at one',
      'Asia/Beirut',
      '2026-03-28T12:00:00Z',
      '2026-03-28T22:00:00Z',
    ],
    ['a midnight that is put back to 23:00', 'Asia/Beirut', '2026-10-24T20:30:00Z', '2026-10-24T22:00:00Z'],
    ['a date that a zone skipped', 'Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-30T10:00:00Z'],
    ['a year', 'Asia/Shanghai', '2026-12-31T15:00:00Z', '2026-12-31T16:00:00Z'],
  ];
  for (const [what, zone, at, next] of nextDays) {
    it(`finds the end of ${what} (${zone})`, () => {
      assert.equal(
        new Date(createLocalTime(zone).nextDayStartMs(Date.parse(at))).toISOString(),
        next.replace('Z', '.000Z'),
      );
    });
  }

  it('counts minutes in local time, so an hour can come twice or not at all', () => {
    const newYork = createLocalTime('America/New_York');
    const spring = Date.parse('2026-03-08T06:59:00Z');
    assert.deepEqual([newYork.minuteOfDay(spring), newYork.minuteOfDay(spring + MINUTE_MS)], [119, 180]);
    const autumn = Date.parse('2026-11-01T05:30:00Z');
    assert.deepEqual([newYork.minuteOfDay(autumn), newYork.minuteOfDay(autumn + HOUR_MS)], [90, 90]);
  });

  it('calls midnight minute 0 and the minute before it 1439', () => {
    const shanghai = createLocalTime('Asia/Shanghai');
    const midnight = Date.parse('2026-07-31T16:00:00Z');
    assert.deepEqual([shanghai.minuteOfDay(midnight - 1), shanghai.minuteOfDay(midnight)], [1439, 0]);
    assert.deepEqual([shanghai.day(midnight - 1), shanghai.day(midnight)], ['2026-07-31', '2026-08-01']);
  });

  it('rejects an unknown zone', () => {
    assert.throws(() => createLocalTime('Mars/Olympus'), RangeError);
  });
});
