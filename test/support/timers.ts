import assert from 'node:assert/strict';
import type { Timers } from '../../src/lib/timers.ts';

/** Timers that run only when a test lets the time pass. */
export interface TestTimers extends Timers {
  /** Lets the time pass, and runs what is due, in the order of the instants. */
  advance(ms: number): void;
  /** How many wait. */
  readonly size: number;
}

export function createTestTimers(): TestTimers {
  const waiting = new Set<{ readonly atMs: number; readonly run: () => void }>();
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    after(ms, run) {
      // Node writes a warning to standard error.
      assert.ok(ms >= 0, `a timer of ${ms} ms`);
      const timer = { atMs: nowMs + ms, run };
      waiting.add(timer);
      return () => waiting.delete(timer);
    },
    advance(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...waiting].filter(({ atMs }) => atMs <= endMs).toSorted((one, other) => one.atMs - other.atMs);
        if (next === undefined) break;
        waiting.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.run();
      }
      nowMs = endMs;
    },
    get size() {
      return waiting.size;
    },
  };
}
