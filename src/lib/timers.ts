/** Timers. Code with deadlines takes them as a parameter, so that tests can control the time. */
export interface Timers {
  /** Returns milliseconds of a monotonic clock. */
  nowMs(): number;
  /** Runs work once, later. Returns a function that cancels it. The timer does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** If a timer runs later than this, the process was blocked. */
const LATE_MS = 100;

/**
 * Timers for time limits of responses. While a process is blocked, by a long computation or because the machine is busy or suspended,
 * responses arrive that it cannot read, and Node runs due timers before it reads them. A timer that runs late therefore waits again, as
 * long as it was late, and at most twice as long in total.
 */
export function createResponseTimers(timers: Timers): Timers {
  return {
    nowMs: timers.nowMs,
    after(ms, run) {
      let extraMs = ms;
      const wait = (waitMs: number): (() => void) => {
        const dueMs = timers.nowMs() + waitMs;
        return timers.after(waitMs, () => {
          const lateMs = Math.min(timers.nowMs() - dueMs, extraMs);
          if (lateMs < LATE_MS) {
            run();
            return;
          }
          extraMs -= lateMs;
          cancel = wait(lateMs);
        });
      };
      let cancel = wait(ms);
      return () => cancel();
    },
  };
}

/** For time limits of the database. */
export const responseTimers: Timers = createResponseTimers(systemTimers);
