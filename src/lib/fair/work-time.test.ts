import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkTime } from './work-time.ts';

/** A piece of work; each step is what it does, and how long it stays so. */
function workedMs(steps: readonly (readonly ['ask' | 'wait' | 'goOn' | 'end' | 'compute', number])[]): number {
  let nowMs = 1_000;
  const time = new WorkTime(() => nowMs);
  for (const [does, ms] of steps) {
    if (does !== 'compute') time[does]();
    nowMs += ms;
  }
  return time.workedMs;
}

describe('the time of a piece of work', () => {
  it('is all of it if nothing waits', () => {
    const steps = [
      ['compute', 5],
      ['ask', 20],
      ['end', 3],
    ] as const;
    assert.equal(workedMs(steps), 28);
  });

  it('has none of what it waits behind the work of others, at each place where it does', () => {
    const steps = [
      ['compute', 5],
      ['ask', 0],
      ['wait', 400],
      ['goOn', 1],
      ['wait', 300],
      ['goOn', 20],
      ['end', 3],
    ] as const;
    assert.equal(workedMs(steps), 29);
  });

  it('goes on while something that it asked for waits and something else does not', () => {
    const steps = [
      ['ask', 0],
      ['ask', 0],
      ['wait', 50],
      ['end', 400],
      ['goOn', 20],
      ['end', 0],
    ] as const;
    assert.equal(workedMs(steps), 70);
  });
});
