import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { lookEveryMs, ReadPace } from './read-pace.ts';

const IDLE_MS = 300_000;
const KIB = 1024;
const MIB = 1024 * KIB;

/** After how many milliseconds a client that takes nothing is too slow. */
function timeOf(bytes: number, allBytes = bytes): number {
  const pace = new ReadPace(IDLE_MS);
  for (let nowMs = 0; ; nowMs += 100) if (pace.isTooSlow({ bytes, allBytes }, 0, nowMs)) return nowMs;
}

describe('ReadPace', () => {
  it('gives the idle time for up to 256 KiB, less for more, and a thirtieth of it at least', () => {
    for (const [bytes, timeMs] of [
      [0, IDLE_MS],
      [256 * KIB, IDLE_MS],
      [512 * KIB, IDLE_MS / 2],
      [MIB, IDLE_MS / 4],
      [4 * MIB, 18_800],
      [30 * MIB, 10_000],
      [1024 * MIB, 10_000],
    ] as const) {
      assert.equal(timeOf(bytes), timeMs, `${bytes} bytes`);
    }
  });

  it('has connections looked at four times in the shortest time, but for short ones every second', () => {
    assert.equal(lookEveryMs(300_000), 2_500);
    assert.equal(lookEveryMs(10_000), 1_000);
    assert.equal(lookEveryMs(300), 75);
  });

  it('gives less for what many clients leave unread, except to those that leave 64 KiB', () => {
    assert.equal(timeOf(100 * KIB, 4 * MIB), IDLE_MS);
    assert.equal(timeOf(100 * KIB, 16 * MIB), IDLE_MS / 4);
    assert.equal(timeOf(100 * KIB, 500 * MIB), 10_000);
    assert.equal(timeOf(64 * KIB, 500 * MIB), IDLE_MS);
  });

  it('begins anew with 64 KiB, or a 64th of what waits, and when nothing waits', () => {
    const pace = new ReadPace(IDLE_MS);
    const unread = { bytes: 32 * MIB, allBytes: 32 * MIB };
    assert.equal(pace.isTooSlow(unread, 0, 0), false);
    assert.equal(pace.isTooSlow(unread, MIB / 2, 9_999), false);
    assert.equal(pace.isTooSlow(unread, MIB - 1, 19_998), false);
    assert.equal(pace.isTooSlow(unread, MIB - 1, 19_999), true);
    pace.isServed();
    assert.equal(pace.isTooSlow(unread, MIB - 1, 20_000), false);
    const little = { bytes: 256 * KIB, allBytes: MIB };
    assert.equal(pace.isTooSlow(little, MIB + 64 * KIB, 300_000), false);
    assert.equal(pace.isTooSlow(little, MIB + 64 * KIB, 599_999), false);
    assert.equal(pace.isTooSlow(little, MIB + 64 * KIB, 600_000), true);
  });

  it('keeps a client that takes 64 KiB a second, whatever waits for it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 * MIB }), (bytes) => {
        const pace = new ReadPace(IDLE_MS);
        for (let second = 0; second * 64 * KIB < bytes; second++) {
          const left = bytes - second * 64 * KIB;
          assert.equal(pace.isTooSlow({ bytes: left, allBytes: left }, second * 64 * KIB, second * 1_000), false);
        }
      }),
    );
  });
});
