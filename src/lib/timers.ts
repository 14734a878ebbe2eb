/** Time that passes, as a parameter: code with a deadline takes `Timers`, so that tests let the time pass. */
export interface Timers {
  /** Milliseconds since some instant; they never go back. */
  nowMs(): number;
  /** Runs work once, later; returns what cancels it. What only a timer waits for does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

/** The timers of this process. */
export const systemTimers: Timers = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
