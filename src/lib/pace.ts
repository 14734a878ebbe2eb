import { setTimeout } from 'node:timers/promises';

/** Runs pieces of work that nobody waits for, and rests in between for as long as they took, so that others come to their turn. */
export type Pace = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface PaceParts {
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Shorter rests are gathered: a timer is late by about a millisecond. */
const REST_MIN_MS = 20;

/** A pace by the real clock. */
export function systemPace(): Pace {
  return createPace({ nowMs: () => performance.now(), wait: (ms) => setTimeout(ms) });
}

export function createPace({ nowMs, wait }: PaceParts): Pace {
  let owedMs = 0;
  return async (work) => {
    if (owedMs >= REST_MIN_MS) {
      const restMs = owedMs;
      owedMs = 0;
      await wait(restMs);
    }
    const beganMs = nowMs();
    try {
      return await work();
    } finally {
      owedMs += nowMs() - beganMs;
    }
  };
}
