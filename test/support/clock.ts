import type { Clock } from '../../src/lib/clock.ts';

/** A clock that changes only when a test sets it. */
export interface TestClock extends Clock {
  /** Sets the time, in ISO 8601, such as `2026-11-20T15:00:00Z`. */
  set(instant: string): void;
  advance(ms: number): void;
}

export function createTestClock(instant: string): TestClock {
  let nowMs = Date.parse(instant);
  return {
    nowMs: () => nowMs,
    set: (next) => {
      nowMs = Date.parse(next);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
