import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WorkTime } from './work-time.ts';

/** The measured time of a piece of work; each step is an event and the time until the next one. */
function workedMs(steps: readonly (readonly ['ask' | 'wait' | 'goOn' | 'end' | 'compute', number])[]): number {
  let nowMs = 1_000;
  const time = new WorkTime(() => nowMs);
  for (const [does, ms] of steps) {
    if (does !== 'compute') time[does]();
    nowMs += ms;
  }
  return time.workedMs;
}

describe('WorkTime', () => {
  it('counts all time if no operation is queued', () => {
    const steps = [
      ['compute', 5],
      ['ask', 20],
      ['end', 3],
    ] as const;
    assert.equal(workedMs(steps), 28);
  });

  it('does not count the time of queued operations', () => {
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

  it('counts the time while one operation is queued and another one runs', () => {
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
