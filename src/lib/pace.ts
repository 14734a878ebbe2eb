import { setTimeout } from 'node:timers/promises';

/**
 * Runs background work. After each piece of work it pauses for as long as the work took, so that the work uses at most half of the time.
 */
export type Pace = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface PaceDependencies {
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Shorter pauses are accumulated, because timers are late by about a millisecond. */
const PAUSE_MIN_MS = 20;

/** Creates a pace with the clock of this process. */
export function systemPace(): Pace {
  return createPace({ nowMs: () => performance.now(), wait: (ms) => setTimeout(ms) });
}

export function createPace({ nowMs, wait }: PaceDependencies): Pace {
  let owedMs = 0;
  return async (work) => {
    if (owedMs >= PAUSE_MIN_MS) {
      const pauseMs = owedMs;
      owedMs = 0;
      await wait(pauseMs);
    }
    const beganMs = nowMs();
    try {
      return await work();
    } finally {
      owedMs += nowMs() - beganMs;
    }
  };
}
