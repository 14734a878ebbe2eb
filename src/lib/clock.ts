/**
 * Time as a parameter. Whatever reads the time takes a `Clock`, so that tests decide what time it is.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
}

/** The wall clock of this machine. */
export const systemClock: Clock = { nowMs: () => Date.now() };
