import { setTimeout } from 'node:timers/promises';

/** Runs a piece of background work, then pauses for as long as it took. So the work uses at most half of the time. */
export type Pace = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface PaceDependencies {
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Shorter pauses are added up until they are this long, because timers are about a millisecond late. */
const PAUSE_MIN_MS = 20;

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
