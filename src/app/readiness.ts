import { InTime } from '../lib/in-time.ts';
import { shareUnderWay } from '../lib/shared-reads.ts';

/** As `/readyz` has it, whose callers do not wait for longer. */
const PATIENCE_MS = 1_000;

/**
 * Makes a question of whether something responds, with a response in bounded time. It is asked once for all who want to know
 * at the same time, so that many who ask ask for no more than one.
 */
export function createReadiness(ping: () => Promise<unknown>, patienceMs = PATIENCE_MS): () => Promise<boolean> {
  const inTime = new InTime(patienceMs);
  const ask = shareUnderWay(() =>
    ping().then(
      () => true,
      () => false,
    ),
  );
  return async () => (await inTime.of(ask())) === true;
}
