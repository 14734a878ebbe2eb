const PAUSE_MS = 5;
const PAUSE_MS_MAX = 250;
/** Of the time that something has taken so far. */
const PAUSE_SHARE = 0.05;

/** Also if a test has replaced the timers. */
const startTimer = setTimeout;
const stopTimer = clearTimeout;

/** A test that waits longer will probably be ended by its limit, which cannot say what it waited for. */
const LONG_MS = 30_000;

/**
 * Resolves when it is so. Looks again and again: what it waits for has no event that a test could see.
 *
 * @param notSo what is the case until then; printed if it takes long.
 */
export async function until(isSo: () => boolean | Promise<boolean>, notSo?: string): Promise<void> {
  const late =
    notSo === undefined ? null : startTimer(() => console.error(`After ${LONG_MS / 1_000} s, ${notSo}.`), LONG_MS);
  const pause = rarerAndRarer();
  try {
    while (!(await isSo())) await pause();
  } finally {
    if (late !== null) stopTimer(late);
  }
}

/** A busy loop would take its time from what it waits for, and from other tests. */
export function pauseBetweenLooks(): Promise<void> {
  return pauseFor(PAUSE_MS);
}

/** Pauses that get longer with the time that has passed: what takes seconds need not be asked for thousands of times. */
export function rarerAndRarer(): () => Promise<void> {
  const beganMs = performance.now();
  return () => pauseFor(Math.min(Math.max(PAUSE_MS, PAUSE_SHARE * (performance.now() - beganMs)), PAUSE_MS_MAX));
}

function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, ms));
}
