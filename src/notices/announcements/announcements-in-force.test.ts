import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnnouncementsInForce, inForce } from './announcements-in-force.ts';
import type { Announcement } from './announcements-store.ts';

const NOON_MS = Date.parse('2026-11-20T12:00:00Z');

const announcement = (audience: Announcement['audience'], fromMs: number, toMs: number): Announcement => ({
  id: `ann_${audience}`,
  level: 'info',
  audience,
  textEn: 'Maintenance',
  textZh: null,
  startsAt: new Date(NOON_MS + fromMs),
  endsAt: new Date(NOON_MS + toMs),
  createdAt: new Date(NOON_MS),
  createdBy: 'operator',
});

describe('announcements in force', () => {
  for (const [atMs, isShown] of [
    [-1, false],
    [0, true],
    [999, true],
    [1000, false],
  ] as const) {
    it(`${atMs} ms after its start, one of a second is ${isShown ? 'shown' : 'not shown'}`, () => {
      const all = [announcement('everyone', 0, 1000)];
      assert.equal(inForce(all, NOON_MS + atMs, false).length, isShown ? 1 : 0);
    });
  }

  it('before sign-in are only those for everyone', () => {
    const all = [announcement('everyone', 0, 1), announcement('signed_in', 0, 1)];
    assert.deepEqual(
      [true, false].map((isSignedIn) => inForce(all, NOON_MS, isSignedIn).length),
      [2, 1],
    );
  });

  it('of a read that began before a change are read again, for everybody who waits', async () => {
    const reads: ((found: Announcement[]) => void)[] = [];
    const begun = () => new Promise<Announcement[]>((resolve) => reads.push(resolve));
    const { read, forget } = createAnnouncementsInForce({ listCurrent: begun }, { nowMs: () => NOON_MS });
    const first = read(true);
    forget();
    const second = read(true);
    reads[0]!([announcement('everyone', 0, 60_000)]);
    while (reads.length < 2) await Promise.resolve();
    reads[1]!([]);
    assert.deepEqual([await first, await second], [[], []]);
  });

  it('are read once in five seconds, at once after a change, and stay if the database is down', async () => {
    let nowMs = NOON_MS;
    let reads = 0;
    let stored = [announcement('everyone', 0, 60_000)];
    let isDown = false;
    const { read, forget } = createAnnouncementsInForce(
      {
        async listCurrent() {
          reads++;
          if (isDown) throw new Error('down');
          return stored;
        },
      },
      { nowMs: () => nowMs },
    );
    await Promise.all([read(false), read(true)]);
    nowMs += 4_999;
    assert.equal((await read(false)).length, 1);
    assert.equal(reads, 1);
    stored = [];
    forget();
    assert.equal((await read(false)).length, 0);
    stored = [announcement('everyone', 0, 60_000)];
    nowMs += 5_000;
    assert.equal((await read(false)).length, 1);
    isDown = true;
    nowMs += 5_000;
    assert.equal((await read(false)).length, 1);
    assert.equal(reads, 4);
  });
});
