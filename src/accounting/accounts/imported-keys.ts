import type { Questions } from '../../db/questions/database-questions.ts';
import type { Clock } from '../../lib/clock.ts';

const TRUST_MS = 60_000;

/**
 * Whether keys that another program made were imported, so that a key of another form is worth a look-up.
 *
 * @param read asks the database. While that cannot be told, what was read last counts; before the first reading, that there are such
 *   keys: a look-up then says itself that the database is down.
 */
export function createImportedKeys(
  read: (signal: AbortSignal) => Promise<boolean>,
  questions: Pick<Questions, 'ask'>,
  clock: Clock,
) {
  let known = true;
  let trustedUntilMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<boolean> | null = null;
  /** Counts what was forgotten: a reading that was under way then may have read what is no longer so. */
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
    /** Strangers ask too, so it is read at most once at a time, and not at all while the last reading is trusted. */
    async areThere(): Promise<boolean> {
      if (clock.nowMs() < trustedUntilMs) return known;
      reading ??= readAgain();
      return reading;
    },
    /** Something has changed: it is read again when it is asked next. */
    forget(): void {
      generation++;
      trustedUntilMs = Number.NEGATIVE_INFINITY;
      reading = null;
    },
  };
}
