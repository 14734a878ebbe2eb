const PAUSE_MS = 5;
const PAUSE_MS_MAX = 250;
/** As a share of the time so far. */
const PAUSE_SHARE = 0.05;

/** The real timers, even if a test has replaced them. */
const startTimer = setTimeout;
const stopTimer = clearTimeout;

/** A test that waits longer will probably exceed its time limit, which does not report what it waited for. */
const LONG_MS = 30_000;

/**
 * Resolves when the condition is true. Polls, because the condition has no event that a test could observe.
 *
 * @param notSo the current state, printed if the wait is long
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

/** A busy loop would take CPU time from what it waits for, and from other tests. */
export function pauseBetweenLooks(): Promise<void> {
  return pauseFor(PAUSE_MS);
}

/** Pauses that grow with the time waited: a condition that takes seconds need not be checked thousands of times. */
export function rarerAndRarer(): () => Promise<void> {
  const beganMs = performance.now();
  return () => pauseFor(Math.min(Math.max(PAUSE_MS, PAUSE_SHARE * (performance.now() - beganMs)), PAUSE_MS_MAX));
}

function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, ms));
}
