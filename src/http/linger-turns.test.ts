import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { LingerTurns } from './linger-turns.ts';

const TICK_MS = 10;
const PIECES_A_TICK = 8;

describe('LingerTurns', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  /** Uses up what may be read until the next tick. */
  function exhaust(turns: LingerTurns): void {
    for (let piece = 0; piece < PIECES_A_TICK; piece++)
      assert.equal(
        turns.mayReadOn(() => assert.fail()),
        true,
      );
  }

  it('lets one connection read so many pieces in a tick, and resumes it in the next', () => {
    const turns = new LingerTurns();
    const resume = mock.fn();
    for (let tick = 1; tick <= 3; tick++) {
      for (let piece = tick === 1 ? 0 : 1; piece < PIECES_A_TICK; piece++) assert.equal(turns.mayReadOn(resume), true);
      assert.equal(turns.mayReadOn(resume), false);
      assert.equal(resume.mock.callCount(), tick - 1);
      mock.timers.tick(TICK_MS);
      assert.equal(resume.mock.callCount(), tick);
    }
  });

  it('resumes waiting connections in their order, no more than may read in a tick', () => {
    const turns = new LingerTurns();
    exhaust(turns);
    const resumed: number[] = [];
    const count = 2 * PIECES_A_TICK + 1;
    for (let index = 0; index < count; index++)
      assert.equal(
        turns.mayReadOn(() => void resumed.push(index)),
        false,
      );
    for (const expected of [PIECES_A_TICK, 2 * PIECES_A_TICK, count]) {
      mock.timers.tick(TICK_MS);
      assert.deepEqual(
        resumed,
        Array.from({ length: expected }, (_, index) => index),
      );
    }
  });

  it('forgets a connection that has ended', () => {
    const turns = new LingerTurns();
    exhaust(turns);
    const resume = mock.fn();
    assert.equal(turns.mayReadOn(resume), false);
    turns.leave(resume);
    mock.timers.tick(TICK_MS);
    assert.equal(resume.mock.callCount(), 0);
  });

  it('goes on after a pause without lingering connections', () => {
    const turns = new LingerTurns();
    exhaust(turns);
    mock.timers.tick(5 * TICK_MS);
    exhaust(turns);
    const resume = mock.fn();
    assert.equal(turns.mayReadOn(resume), false);
    mock.timers.tick(TICK_MS);
    assert.equal(resume.mock.callCount(), 1);
  });
});
