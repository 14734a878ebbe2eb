import { InTime } from '../lib/in-time.ts';

/** As `/readyz` has it, whose callers do not wait for longer. */
const PATIENCE_MS = 1_000;

/**
 * Makes a question of whether something responds, with a response in bounded time. It is asked once for all who want to know
 * at the same time, so that many who ask ask for no more than one.
 */
export function createReadiness(ping: () => Promise<unknown>, patienceMs = PATIENCE_MS): () => Promise<boolean> {
  const inTime = new InTime(patienceMs);
  let asked: Promise<boolean> | null = null;
  return async () => {
    asked ??= ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        asked = null;
      });
    return (await inTime.of(asked)) === true;
  };
}
