export interface WorkerHistory {
  readonly failedStarts: number;
  /** Number of processes in a row that died soon after they began to serve. */
  readonly soonDead: number;
}

export const NEW_WORKER: WorkerHistory = { failedStarts: 0, soonDead: 0 };

export type Death = 'before-it-served' | { readonly servedMs: number };

export interface Restart {
  readonly history: WorkerHistory;
  /** Time until the next start; `null`: give up, and stop the gateway. */
  readonly afterMs: number | null;
}

const SOON_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Together, failed starts take two minutes: longer than a restart of the database, shorter than operators wait. */
const FAILED_STARTS_MAX = 8;

/**
 * Decides when to restart a worker. One that had served restarts at once; if it keeps dying, the delay doubles. A failed start is repeated
 * a few times, because the database may be down for a moment; then the gateway stops with the error, as a single process does.
 */
export function afterDeath(history: WorkerHistory, death: Death): Restart {
  if (death === 'before-it-served') {
    const failedStarts = history.failedStarts + 1;
    const afterMs = failedStarts > FAILED_STARTS_MAX ? null : pauseMs(failedStarts);
    return { history: { ...history, failedStarts }, afterMs };
  }
  if (death.servedMs >= SOON_MS) return { history: NEW_WORKER, afterMs: 0 };
  const soonDead = history.soonDead + 1;
  return { history: { failedStarts: 0, soonDead }, afterMs: soonDead === 1 ? 0 : pauseMs(soonDead - 1) };
}

function pauseMs(times: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (times - 1), PAUSE_MAX_MS);
}
