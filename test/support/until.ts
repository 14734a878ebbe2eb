const PAUSE_MS = 5;

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
  try {
    while (!(await isSo())) await pauseBetweenLooks();
  } finally {
    if (late !== null) stopTimer(late);
  }
}

/** A busy loop would take its time from what it waits for, and from other tests. */
export function pauseBetweenLooks(): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, PAUSE_MS));
}
