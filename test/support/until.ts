const PAUSE_MS = 5;

/** Also if a test has replaced the timers. */
const startTimer = setTimeout;

/** Resolves when it is so. Looks again and again: what it waits for has no event that a test could see. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pauseBetweenLooks();
}

/** A busy loop would take its time from what it waits for, and from other tests. */
export function pauseBetweenLooks(): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, PAUSE_MS));
}
