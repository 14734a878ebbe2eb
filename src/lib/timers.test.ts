import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createResponseTimers, type Timers } from './timers.ts';

/** Timers of a process that is blocked while the clock moves on. */
class BlockedTimers implements Timers {
  #nowMs = 0;
  #waiting: { readonly dueMs: number; readonly run: () => void }[] = [];

  nowMs = (): number => this.#nowMs;

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { dueMs: this.#nowMs + ms, run };
    this.#waiting.push(timer);
    return () => {
      this.#waiting = this.#waiting.filter((each) => each !== timer);
    };
  };

  /** Moves the clock, and then runs what is due. */
  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > this.#nowMs);
    for (const { run } of due) run();
  }
}

/** Runs a timer of two seconds, and returns after which of the passes it ran. */
function ranAfter(...passesMs: readonly number[]): number | null {
  const blocked = new BlockedTimers();
  let at: number | null = null;
  let passes = 0;
  createResponseTimers(blocked).after(2_000, () => {
    at = passes;
  });
  for (const ms of passesMs) {
    passes++;
    blocked.pass(ms);
  }
  return at;
}

describe('a timer for the time limit of a response', () => {
  it('runs when its time is over', () => {
    assert.equal(ranAfter(1_999), null);
    assert.equal(ranAfter(2_000), 1);
    assert.equal(ranAfter(2_050), 1);
  });

  it('waits again as long as it was late', () => {
    assert.equal(ranAfter(2_700, 699), null);
    assert.equal(ranAfter(2_700, 700), 2);
  });

  it('waits at most twice as long in total, however often it is late', () => {
    assert.equal(ranAfter(60_000, 1_999), null);
    assert.equal(ranAfter(60_000, 2_000), 2);
    assert.equal(ranAfter(3_000, 60_000, 999), null);
    assert.equal(ranAfter(3_000, 60_000, 1_000), 3);
  });

  it('does not run once it is cancelled, also while it waits again', () => {
    const blocked = new BlockedTimers();
    let hasRun = false;
    const cancel = createResponseTimers(blocked).after(2_000, () => {
      hasRun = true;
    });
    blocked.pass(3_000);
    cancel();
    blocked.pass(60_000);
    assert.equal(hasRun, false);
  });
});
