import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import type { UnitPrices } from './charge.ts';
import { createLocalTime } from './local-time.ts';
import { type DayRange, type ModelPrice, type PriceRule, priceInForce } from './price.ts';

function pricesOf(input: bigint): UnitPrices {
  return {
    inputNanoPerMillion: input,
    cachedInputNanoPerMillion: input,
    cacheWriteNanoPerMillion: input,
    cacheWrite1hNanoPerMillion: input,
    imageInputNanoPerMillion: input,
    outputNanoPerMillion: input,
    imageOutputNanoPerMillion: input,
    perImageNano: null,
    perSearchUnitNano: null,
    perCallNano: null,
  };
}

const base = pricesOf(1n);
const peak = pricesOf(2n);
const offPeak = pricesOf(3n);

function priceWith(peakHours: readonly DayRange[], timezone = 'Asia/Shanghai'): ModelPrice {
  return {
    base,
    timeOfDay: { scheduleId: 'day', timezone, localTime: createLocalTime(timezone), peakHours, peak, offPeak },
    later: [],
  };
}

/** An instant at this local minute of the day in Shanghai. */
const atMinute = (minute: number): number => Date.parse('2026-07-31T16:00:00Z') + minute * 60_000;

const fromTo = (from: string, to: string): DayRange => ({ fromMinute: minuteOf(from), toMinute: minuteOf(to) });

function minuteOf(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
}

describe('price in force', () => {
  it('is that of the last later price whose start has passed, to the millisecond', () => {
    const lists = (prices: UnitPrices, fromMs: number) => ({ base: prices, timeOfDay: null, fromMs });
    const price = { base, timeOfDay: null, later: [lists(peak, atMinute(10)), lists(offPeak, atMinute(20))] };
    const inForce = (epochMs: number) => priceInForce(price, epochMs).prices;
    assert.equal(inForce(atMinute(10) - 1), base);
    assert.equal(inForce(atMinute(10)), peak);
    assert.equal(inForce(atMinute(20) - 1), peak);
    assert.equal(inForce(atMinute(20)), offPeak);
  });

  it('is the base price if a model has no prices by time of day', () => {
    assert.deepEqual(priceInForce({ base, timeOfDay: null, later: [] }, atMinute(0)), { rule: 'base', prices: base });
  });

  const cases: readonly [hours: readonly DayRange[], clock: string, rule: PriceRule][] = [
    [[fromTo('09:00', '21:00')], '08:59', 'off_peak'],
    [[fromTo('09:00', '21:00')], '09:00', 'peak'],
    [[fromTo('09:00', '21:00')], '20:59', 'peak'],
    [[fromTo('09:00', '21:00')], '21:00', 'off_peak'],
    [[fromTo('22:00', '06:00')], '21:59', 'off_peak'],
    [[fromTo('22:00', '06:00')], '22:00', 'peak'],
    [[fromTo('22:00', '06:00')], '23:59', 'peak'],
    [[fromTo('22:00', '06:00')], '00:00', 'peak'],
    [[fromTo('22:00', '06:00')], '05:59', 'peak'],
    [[fromTo('22:00', '06:00')], '06:00', 'off_peak'],
    [[fromTo('20:00', '24:00')], '23:59', 'peak'],
    [[fromTo('20:00', '24:00')], '00:00', 'off_peak'],
    [[fromTo('20:00', '00:00')], '23:59', 'peak'],
    [[fromTo('20:00', '00:00')], '00:00', 'off_peak'],
    [[fromTo('00:00', '24:00')], '12:00', 'peak'],
    [[fromTo('08:00', '10:00'), fromTo('18:00', '20:00')], '09:00', 'peak'],
    [[fromTo('08:00', '10:00'), fromTo('18:00', '20:00')], '12:00', 'off_peak'],
    [[fromTo('08:00', '10:00'), fromTo('18:00', '20:00')], '18:00', 'peak'],
  ];
  for (const [hours, clock, rule] of cases) {
    const text = hours.map(({ fromMinute, toMinute }) => `${fromMinute / 60}-${toMinute / 60}`).join(' and ');
    it(`at ${clock} is ${rule} if the peak lasts from ${text}`, () => {
      assert.deepEqual(priceInForce(priceWith(hours), atMinute(minuteOf(clock))), {
        rule,
        prices: rule === 'peak' ? peak : offPeak,
      });
    });
  }

  it('is peak exactly in the minutes from the beginning of a range to its end', () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    fc.assert(
      fc.property(minute, minute, minute, (fromMinute, toMinute, asked) => {
        fc.pre(fromMinute !== toMinute);
        const peakMinutes = new Set<number>();
        for (let minute = fromMinute; minute !== toMinute; minute = (minute + 1) % 1440) peakMinutes.add(minute);
        const { rule } = priceInForce(priceWith([{ fromMinute, toMinute }]), atMinute(asked));
        assert.equal(rule, peakMinutes.has(asked) ? 'peak' : 'off_peak');
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('uses the local time of the schedule across clock changes', () => {
    const price = priceWith([fromTo('01:00', '02:00')], 'America/New_York');
    const rules = ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z', '2026-11-01T07:30:00Z'].map(
      (at) => priceInForce(price, Date.parse(at)).rule,
    );
    assert.deepEqual(rules, ['peak', 'peak', 'off_peak']);
  });
});
