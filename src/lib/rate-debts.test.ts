import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { debtAfter, overMs, RateDebts } from './rate-debts.ts';

const rates = fc.record({ burst: fc.integer({ min: 1, max: 20 }), everyMs: fc.integer({ min: 1, max: 60_000 }) });
/** Clocks have fractions of milliseconds. */
const instants = fc.double({ min: 0, max: 1e12, noNaN: true });

describe('RateDebts', () => {
  it('allows a burst at any instant, and one more use per interval', () => {
    fc.assert(
      fc.property(rates, instants, (rate, nowMs) => {
        const debts = new RateDebts(10);
        for (let n = 0; n < rate.burst; n++) assert.equal(debts.take('a', rate, nowMs), 0);
        assert.equal(debts.take('a', rate, nowMs), rate.everyMs);
        assert.equal(debts.take('a', rate, nowMs + rate.everyMs), 0);
        assert.equal(debts.take('a', rate, nowMs + rate.everyMs), rate.everyMs);
        for (let n = 0; n < rate.burst; n++) assert.equal(debts.take('a', rate, nowMs + 100 * rate.burst * 60_000), 0);
      }),
    );
  });

  it('never exceeds the rate in any interval, and allows a use after the reported wait', () => {
    const passed = fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 60 });
    fc.assert(
      fc.property(rates, passed, (rate, steps) => {
        const debts = new RateDebts(10);
        const taken: number[] = [];
        let nowMs = 1_000_000;
        for (const step of steps) {
          nowMs += step;
          const waitMs = debts.take('a', rate, nowMs);
          if (waitMs === 0) taken.push(nowMs);
          else
            assert.deepEqual(
              [0, 1].map((early) => debts.waitMs('a', rate, nowMs + waitMs - early)),
              [0, 1],
            );
        }
        for (const [i, beganMs] of taken.entries()) {
          for (const [j, endMs] of taken.slice(i).entries()) {
            assert.ok(j + 1 <= rate.burst + (endMs - beganMs) / rate.everyMs);
          }
        }
      }),
    );
  });

  it('restores the state when a use is given back, and has no debt when all are', () => {
    fc.assert(
      fc.property(rates, instants, fc.nat(20), (rate, nowMs, count) => {
        const debts = new RateDebts(10);
        debts.giveBack('a', rate);
        for (let n = 0; n < count; n++) debts.count('a', rate, nowMs);
        const waitMs = debts.waitMs('a', rate, nowMs);
        debts.count('a', rate, nowMs);
        debts.giveBack('a', rate);
        assert.equal(debts.waitMs('a', rate, nowMs), waitMs);
        for (let n = 0; n < count; n++) debts.giveBack('a', rate);
        assert.equal(debts.waitMs('a', rate, nowMs), 0);
      }),
    );
  });

  it('counts a use of cost n as n uses', () => {
    fc.assert(
      fc.property(rates, instants, fc.integer({ min: 1, max: 30 }), (rate, nowMs, cost) => {
        let debt: number | undefined;
        for (let n = 0; n < cost; n++) debt = debtAfter(debt, rate, nowMs);
        assert.equal(debtAfter(undefined, rate, nowMs, cost), debt);
        assert.equal(overMs(debt!, rate, nowMs), (cost - rate.burst) * rate.everyMs);
      }),
    );
  });

  it('keeps a bucket for each name, and forgets the least recently used', () => {
    const rate = { burst: 1, everyMs: 1_000 };
    const debts = new RateDebts(2);
    debts.count('a', rate, 0);
    assert.deepEqual([debts.waitMs('a', rate, 0), debts.waitMs('b', rate, 0)], [1_000, 0]);
    debts.forget('a');
    assert.equal(debts.waitMs('a', rate, 0), 0);
    for (const name of ['a', 'b', 'c']) debts.count(name, rate, 0);
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => debts.waitMs(name, rate, 0)),
      [0, 1_000, 1_000],
    );
  });
});
