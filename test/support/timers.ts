import assert from 'node:assert/strict';
import type { Timers } from '../../src/lib/timers.ts';

/** Timers that run only when a test advances the time. */
export interface TestTimers extends Timers {
  /** Advances the time and runs timers in the order in which they are due. */
  advance(ms: number): void;
  /** Number of pending timers. */
  readonly size: number;
}

export function createTestTimers(): TestTimers {
  const waiting = new Set<{ readonly atMs: number; readonly run: () => void }>();
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    after(ms, run) {
      // Node reports a warning on standard error.
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
