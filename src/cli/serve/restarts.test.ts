import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterDeath, type Death, NEW_WORKER } from './restarts.ts';

/** The pauses before the next starts, as the deaths follow one another. */
function pauses(deaths: readonly Death[]): (number | null)[] {
  let history = NEW_WORKER;
  return deaths.map((death) => {
    const next = afterDeath(history, death);
    history = next.history;
    return next.afterMs;
  });
}

const FAILED: Death = 'before-it-served';
const SOON: Death = { servedMs: 500 };
const LATE: Death = { servedMs: 3_600_000 };

describe('the restart of a worker', () => {
  it('is immediate after a process that had served', () => {
    assert.deepEqual(pauses([LATE, LATE, LATE]), [0, 0, 0]);
    assert.deepEqual(pauses([SOON]), [0]);
  });

  it('has growing delays while processes die soon, and none after one has lasted', () => {
    assert.deepEqual(pauses([SOON, SOON, SOON, SOON, SOON, SOON, SOON, SOON]), [
      ...[0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
    ]);
    assert.deepEqual(pauses([SOON, SOON, LATE, SOON, SOON]), [0, 1_000, 0, 0, 1_000]);
  });

  it('is tried eight times before the gateway stops', () => {
    assert.deepEqual(pauses(Array(9).fill(FAILED)), [
      ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000],
      null,
    ]);
  });

  it('counts consecutive failed starts', () => {
    const deaths = [...Array(8).fill(FAILED), SOON, ...Array(8).fill(FAILED)];
    assert.ok(!pauses(deaths).includes(null));
  });
});
