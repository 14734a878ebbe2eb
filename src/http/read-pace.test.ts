import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkEveryMs, ReadPace } from './read-pace.ts';

const IDLE_MS = 300_000;
const KIB = 1024;
const MIB = 1024 * KIB;

/** The time after which a client that reads nothing is too slow, in milliseconds. */
function timeOf(bytes: number, allBytes = bytes): number {
  const pace = new ReadPace(IDLE_MS);
  for (let nowMs = 0; ; nowMs += 100) if (pace.isTooSlow({ bytes, allBytes }, 0, nowMs)) return nowMs;
}

describe('ReadPace', () => {
  it('allows the idle time for up to 256 KiB, less for more, and at least a thirtieth of it', () => {
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

  it('requires four checks in the shortest limit, and with a short idle time one per second', () => {
    assert.equal(checkEveryMs(300_000), 2_500);
    assert.equal(checkEveryMs(10_000), 1_000);
    assert.equal(checkEveryMs(300), 75);
  });

  it('allows less time if all clients have much unread, except to clients with up to 64 KiB', () => {
    assert.equal(timeOf(100 * KIB, 4 * MIB), IDLE_MS);
    assert.equal(timeOf(100 * KIB, 16 * MIB), IDLE_MS / 4);
    assert.equal(timeOf(100 * KIB, 500 * MIB), 10_000);
    assert.equal(timeOf(64 * KIB, 500 * MIB), IDLE_MS);
  });

  it('restarts the time after 64 KiB or a 64th of the unread bytes, and when nothing is unread', () => {
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

  it('keeps a client that reads 64 KiB/s, however much is unread', () => {
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
