/** The time. Code that reads it takes a `Clock` as a parameter, so that tests can set the time. */
export interface Clock {
  /** Returns the time in milliseconds since the Unix epoch. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
