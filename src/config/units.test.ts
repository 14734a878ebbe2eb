import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseDayRange, parseDurationMs, parseSizeBytes } from './units.ts';

describe('sizes', () => {
  it('are bytes, decimal units or binary units', () => {
    assert.equal(parseSizeBytes('1024'), 1024);
    assert.equal(parseSizeBytes('7B'), 7);
    assert.equal(parseSizeBytes('500KB'), 500_000);
    assert.equal(parseSizeBytes('2 KiB'), 2048);
    assert.equal(parseSizeBytes('3MB'), 3_000_000);
    assert.equal(parseSizeBytes('64MiB'), 67_108_864);
    assert.equal(parseSizeBytes('1GB'), 1_000_000_000);
    assert.equal(parseSizeBytes(' 1GiB '), 1_073_741_824);
  });

  it('with decimals are exact', () => {
    assert.equal(parseSizeBytes('1.1MB'), 1_100_000);
    assert.equal(parseSizeBytes('4.35KB'), 4350);
    assert.equal(parseSizeBytes('1.5KiB'), 1536);
  });

  it('that are not a whole number of bytes, or too large, are refused', () => {
    assert.equal(parseSizeBytes('0.1KiB'), null);
    assert.equal(parseSizeBytes('1.5'), null);
    assert.equal(parseSizeBytes('9007199254740992'), null);
    assert.equal(parseSizeBytes('99999999999GiB'), null);
  });

  it('in any other form are refused', () => {
    for (const text of ['', 'MiB', '-1', '64mib', '64 M', '1e3', '0x10', '1_000', '1,5KB', '.5KB', '64MiB 1']) {
      assert.equal(parseSizeBytes(text), null, text);
    }
  });
});

describe('durations', () => {
  it('are milliseconds, seconds, minutes, hours or days', () => {
    assert.equal(parseDurationMs('500ms'), 500);
    assert.equal(parseDurationMs('10s'), 10_000);
    assert.equal(parseDurationMs('5 m'), 300_000);
    assert.equal(parseDurationMs('2h'), 7_200_000);
    assert.equal(parseDurationMs('1d'), 86_400_000);
    assert.equal(parseDurationMs('0s'), 0);
  });

  it('with decimals are exact', () => {
    assert.equal(parseDurationMs('0.07s'), 70);
    assert.equal(parseDurationMs('1.1s'), 1100);
    assert.equal(parseDurationMs('0.5ms'), null);
  });

  it('without a unit are refused, because they are ambiguous', () => {
    assert.equal(parseDurationMs('10'), null);
  });

  it('in any other form are refused', () => {
    for (const text of ['', 's', '-1s', '10 seconds', '10S', '1h30m', '1e3s', 'PT10S']) {
      assert.equal(parseDurationMs(text), null, text);
    }
  });
});

describe('time ranges', () => {
  it('are minutes since midnight', () => {
    assert.deepEqual(parseDayRange('09:00-21:30'), { fromMinute: 540, toMinute: 1290 });
    assert.deepEqual(parseDayRange('9:05 - 21:00'), { fromMinute: 545, toMinute: 1260 });
  });

  it('may cross midnight, and may end at 24:00', () => {
    assert.deepEqual(parseDayRange('22:00-06:00'), { fromMinute: 1320, toMinute: 360 });
    assert.deepEqual(parseDayRange('00:00-24:00'), { fromMinute: 0, toMinute: 1440 });
  });

  it('that are empty or have an invalid time are refused', () => {
    for (const text of ['09:00-09:00', '24:00-06:00', '09:60-10:00', '09:00-24:01', '09:00-10:75', '25:00-26:00']) {
      assert.equal(parseDayRange(text), null, text);
    }
  });

  it('in any other form are refused', () => {
    for (const text of ['', '9-21', '09:00', '0900-2100', '09:00-21:00-22:00', '9:0-21:00']) {
      assert.equal(parseDayRange(text), null, text);
    }
  });
});
