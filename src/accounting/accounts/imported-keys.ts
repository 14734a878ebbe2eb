import type { Questions } from '../../db/questions/database-questions.ts';
import type { Clock } from '../../lib/clock.ts';

const TRUST_MS = 60_000;

/**
 * Tracks whether the directory has imported keys. Only then are keys of other formats looked up.
 *
 * @param read reads this from the directory; if it fails, the last known value is used, at first true
 */
export function createImportedKeys(
  read: (signal: AbortSignal) => Promise<boolean>,
  questions: Pick<Questions, 'ask'>,
  clock: Clock,
) {
  let known = true;
  let trustedUntilMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<boolean> | null = null;
  /** Incremented by `forget`. A read that was pending at that time may return an outdated result. */
  let generation = 0;

  async function readAgain(): Promise<boolean> {
    const generationBefore = generation;
    const areThere = await questions.ask(read).catch(() => null);
    if (generation !== generationBefore) return areThere ?? known;
    reading = null;
    if (areThere === null) return known;
    known = areThere;
    trustedUntilMs = clock.nowMs() + TRUST_MS;
    return known;
  }

  return {
    /** Unauthenticated requests trigger this read. Therefore at most one read runs at a time, and its result is cached for a minute. */
    async areThere(): Promise<boolean> {
      if (clock.nowMs() < trustedUntilMs) return known;
      reading ??= readAgain();
      return reading;
    },
    forget(): void {
      generation++;
      trustedUntilMs = Number.NEGATIVE_INFINITY;
      reading = null;
    },
  };
}
