import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fromLocalTime, toLocalTime } from '../../console/src/text/local-time.ts';
import { formatOf } from '../../console/src/text/written.ts';
import { fromNano, roundYuan, toNano } from '../../console/src/text/yuan.ts';

describe('a rounded amount', () => {
  const format = formatOf('en-GB', 'UTC');

  it('is rounded half even to two decimals, or to three significant digits below one yuan', () => {
    for (const [exact, short] of [
      ['0', '¥0.00'],
      ['12', '¥12.00'],
      ['1234.5', '¥1,234.50'],
      ['1.005', '¥1.00'],
      ['1.015', '¥1.02'],
      ['1.0150001', '¥1.02'],
      ['1.025', '¥1.02'],
      ['0.999', '¥0.999'],
      ['0.9996', '¥1.00'],
      ['0.018', '¥0.018'],
      ['0.02', '¥0.02'],
      ['0.12345', '¥0.123'],
      ['0.014999999', '¥0.015'],
      ['0.01255', '¥0.0126'],
      ['0.001072', '¥0.00107'],
      ['0.0012250', '¥0.00122'],
      ['0.0012350', '¥0.00124'],
      ['0.009999', '¥0.01'],
      ['0.000000001', '¥0.000000001'],
      ['0.0000001234', '¥0.000000123'],
      ['-3.455', '−¥3.46'],
      ['-3.445', '−¥3.44'],
      ['999.995', '¥1,000.00'],
    ] as const) {
      assert.equal(format.yuan(exact, true), short, exact);
    }
  });

  it('is the nearest such amount, with ties to even', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        const rounded = toNano(roundYuan(fromNano(nano)));
        const size = nano < 0n ? -nano : nano;
        const step = size >= 1_000_000_000n ? 10_000_000n : 10n ** BigInt(Math.max(size.toString().length - 3, 0));
        assert.equal(rounded % step, 0n);
        const off = rounded > nano ? rounded - nano : nano - rounded;
        assert.ok(2n * off <= step);
        if (2n * off === step) assert.equal((rounded / step) % 2n, 0n);
      }),
    );
  });

  it('keeps all decimals unless it is short', () => {
    assert.equal(format.yuan('0.001072'), '¥0.001072');
    assert.equal(format.yuan('-1.005'), '−¥1.005');
  });
});

describe('a figure', () => {
  it('has at least three significant digits', () => {
    const { percent, duration, bytes } = formatOf('en-GB', 'UTC');
    assert.deepEqual([0.0004, 0.12345, 0.9996, -0.03333, 12.3456].map(percent), [
      '0.04%',
      '12.3%',
      '100%',
      '−3.33%',
      '1,234.6%',
    ]);
    assert.deepEqual(
      [7, 1_234, 61_250].map((ms) => duration(ms)),
      ['7 ms', '1.23 s', '61.3 s'],
    );
    assert.equal(bytes(1_500_000), '1.43 MB');
  });
});

describe('an instant', () => {
  it('is written in the display time zone', () => {
    const at = '2026-11-30T16:30:00Z';
    assert.equal(formatOf('en-GB', 'Asia/Shanghai').instant(at), '1 Dec 2026, 00:30:00');
    assert.equal(formatOf('en-GB', 'America/New_York').instant(at), '30 Nov 2026, 11:30:00');
    assert.equal(formatOf('en-GB', 'UTC').day(at, 'UTC'), '30 Nov 2026');
    assert.equal(formatOf('en-GB', 'UTC').day(at, 'Asia/Shanghai'), '1 Dec 2026');
  });

  it('round-trips to the minute as input in a time zone', () => {
    const zones = fc.constantFrom('Asia/Shanghai', 'America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'UTC');
    const instants = fc.integer({ min: Date.parse('2011-12-01T00:00Z'), max: Date.parse('2030-01-01T00:00Z') });
    fc.assert(
      fc.property(zones, instants, (zone, ms) => {
        const local = toLocalTime(ms, zone);
        assert.match(local, /^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
        // A local time that occurs twice may give either instant; both are written alike.
        assert.equal(toLocalTime(fromLocalTime(local, zone), zone), local);
      }),
    );
    assert.equal(fromLocalTime('2026-12-01T00:30', 'Asia/Shanghai'), '2026-11-30T16:30:00.000Z');
    // This time does not exist in Berlin: clocks went from 2:00 to 3:00.
    assert.match(fromLocalTime('2026-03-29T02:30', 'Europe/Berlin'), /^2026-03-29T0[01]:30:00\.000Z$/);
    for (const none of ['', 'soon']) assert.equal(fromLocalTime(none, 'UTC'), '');
    assert.equal(toLocalTime('soon', 'UTC'), '');
  });
});
