import type { Questions } from '../../db/questions/database-questions.ts';
import type { Clock } from '../../lib/clock.ts';

const TRUST_MS = 60_000;

/**
 * Keys of other formats are looked up only if the directory has imported keys.
 *
 * @param read if it fails, the last known value is used, at first true
 */
export function createImportedKeys(
  read: (signal: AbortSignal) => Promise<boolean>,
  questions: Pick<Questions, 'ask'>,
  clock: Clock,
) {
  let known = true;
  let trustedUntilMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<boolean> | null = null;
  /** Incremented by `forget`, because the result of a pending read might be outdated. */
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
