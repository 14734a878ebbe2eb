import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../lib/logger.ts';
import { createDatabaseClock } from './database-clock.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 4);

function setScene() {
  const said: string[] = [];
  const note = (level: string) => (_details: object, message: string) => void said.push(`${level}: ${message}`);
  const logger = { ...silentLogger, warn: note('warn'), info: note('info') };
  const databaseClock = createDatabaseClock({ nowMs: () => NOW_MS }, logger);
  /** A reading by a node whose clock is ahead by `aheadMs`, with a round trip of `waitedMs`. */
  const read = (aheadMs: number, waitedMs: number): number => {
    const databaseMs = NOW_MS - aheadMs;
    databaseClock.read({ databaseMs, askedMs: NOW_MS - waitedMs / 2, arrivedMs: NOW_MS + waitedMs / 2 });
    return databaseClock.aheadMs;
  };
  return { databaseClock, read, said };
}

describe('the database clock', () => {
  it('equals the clock of the node until it was read', () => {
    const { databaseClock } = setScene();
    assert.deepEqual([databaseClock.nowMs(), databaseClock.aheadMs, databaseClock.warning], [NOW_MS, 0, null]);
  });

  for (const [aheadMs, waitedMs, certainMs] of [
    [0, 0, 0],
    [500, 0, 500],
    [-500, 0, -500],
    [500, 1_000, 0],
    [-500, 1_000, 0],
    [5_000, 1_000, 4_500],
    [-5_000, 1_000, -4_500],
    [3_000, 60_000, 0],
  ] as const) {
    it(`differs by at least ${certainMs} ms if a reading of ${waitedMs} ms returns ${aheadMs} ms`, () => {
      const { databaseClock, read } = setScene();
      assert.equal(read(aheadMs, waitedMs), certainMs);
      assert.equal(databaseClock.nowMs(), NOW_MS - certainMs);
    });
  }

  it('is reported once if it differs by more than two seconds, and again when it agrees', () => {
    const { databaseClock, read, said } = setScene();
    read(2_000, 0);
    assert.deepEqual([databaseClock.warning, said], [null, []]);
    read(2_001, 0);
    read(3_000, 0);
    assert.equal(databaseClock.warning, 'The clock of this node is 3.0 s ahead of the clock of the database.');
    read(-7_260, 20);
    assert.equal(databaseClock.warning, 'The clock of this node is 7.3 s behind the clock of the database.');
    assert.equal(said.length, 1);
    assert.match(said[0]!, /^warn: the clocks of this node and the database differ/);
    read(100, 0);
    assert.equal(databaseClock.warning, null);
    assert.match(said[1]!, /^info: .*agrees/);
  });

  it('can be replaced in tests', () => {
    const clock = { nowMs: () => NOW_MS };
    assert.equal(createDatabaseClock(clock, silentLogger, { nowMs: () => 5 }).nowMs(), 5);
  });
});
