import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { UploadPace } from './upload-pace.ts';

const IDLE_MS = 30_000;
const KIB = 1024;

describe('UploadPace', () => {
  it('allows the idle time for each 8 KiB', () => {
    const pace = new UploadPace(IDLE_MS, 100);
    assert.equal(pace.leftMs(100), IDLE_MS);
    pace.arrived(8 * KIB - 1, 10_100);
    assert.equal(pace.leftMs(10_100), 20_000);
    pace.arrived(1, 20_100);
    assert.equal(pace.leftMs(20_100), 10_000);
    pace.arrived(100 * KIB, 20_100);
    assert.equal(pace.leftMs(20_100), IDLE_MS);
    assert.ok(pace.leftMs(50_100) <= 0);
  });

  it('requires 1 KiB a second on average after half a minute, whatever the idle time', () => {
    const pace = new UploadPace(600_000, 0);
    assert.equal(pace.leftMs(29_999), 1);
    assert.equal(pace.leftMs(30_000), 0);
    pace.arrived(40 * KIB, 29_999);
    assert.equal(pace.leftMs(30_000), 10_000);
    assert.equal(pace.leftMs(40_000), 0);
  });

  it('stops an upload that sends only 8 KiB per idle time', () => {
    const pace = new UploadPace(IDLE_MS, 0);
    let nowMs = 0;
    while (pace.leftMs(nowMs) > 0) {
      nowMs += 29_000;
      pace.arrived(8 * KIB, nowMs);
      assert.ok(nowMs < 60_000);
    }
  });

  it('does not count the time during which the client is paused', () => {
    const pace = new UploadPace(IDLE_MS, 0);
    pace.paused(10_000);
    assert.equal(pace.leftMs(500_000), 20_000);
    pace.paused(400_000);
    pace.resumed(500_000);
    pace.resumed(500_001);
    assert.equal(pace.leftMs(505_000), 15_000);
  });

  it('never stops an upload of 2 KiB/s, whatever the sizes of its chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9_000 }), { maxLength: 100 }), (gapsMs) => {
        const pace = new UploadPace(IDLE_MS, 0);
        let nowMs = 0;
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          assert.ok(pace.leftMs(nowMs) > 0);
          pace.arrived(Math.ceil((gapMs / 1000) * 2 * KIB), nowMs);
        }
      }),
    );
  });
});
