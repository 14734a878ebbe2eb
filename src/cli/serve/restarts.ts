/** What has become of the processes of one worker lately. */
export interface WorkerHistory {
  /** Starts in a row that failed. */
  readonly failedStarts: number;
  /** Processes in a row that served and died soon. */
  readonly soonDead: number;
}

export const NEW_WORKER: WorkerHistory = { failedStarts: 0, soonDead: 0 };

/** How a process ended: before it served, or after it had served for so long. */
export type Death = 'before-it-served' | { readonly servedMs: number };

/** `null` in place of a time: no further start is tried, and the gateway ends. */
export interface Restart {
  readonly history: WorkerHistory;
  readonly afterMs: number | null;
}

/** A process that served for longer did not die of its start. */
const SOON_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Starts that fail take two minutes together: longer than a database restarts, shorter than somebody waits for the gateway to be ready. */
const FAILED_STARTS_MAX = 8;

/**
 * When a worker that has ended is started again. One that served comes back at once, unless it keeps dying: then the pause doubles. One that
 * cannot start is tried some times, because the database may be down for a moment; then the gateway ends with its error, as one
 * process does.
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
