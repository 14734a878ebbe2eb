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
