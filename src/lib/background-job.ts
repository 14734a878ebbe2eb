import type { Logger } from './logger.ts';

/** Periodic background work. */
export interface BackgroundJob {
  start(): void;
  /** Begins the next round now, or directly after the current round. */
  wake(): void;
  /** Runs a round after the current one has ended, and rejects with its error. For tests. */
  round(): Promise<void>;
  /** Resolves when the current round has ended. */
  stop(): Promise<void>;
}

interface BackgroundJobDependencies {
  /** The pause between two rounds; after failures it is longer. */
  readonly intervalMs: number;
  /** Does the work of one round. When `isStopping` returns true, it must return soon, even if the work is incomplete. */
  readonly run: (isStopping: () => boolean) => Promise<void>;
  readonly logger: Logger;
  /** Log messages for the first failed round, and for the first successful round after it. */
  readonly failing: string;
  readonly recovered: string;
}

const RETRY_MAX_MS = 60_000;

export function createBackgroundJob({
  intervalMs,
  run,
  logger,
  failing,
  recovered,
}: BackgroundJobDependencies): BackgroundJob {
  let isStopping = false;
  let isStarted = false;
  let isWoken = false;
  let isRunning = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function attempt(): Promise<void> {
    try {
      await run(() => isStopping);
      if (failures > 0) logger.info({}, recovered);
      failures = 0;
    } catch (error) {
      // Only the first of consecutive failures is logged.
      if (failures === 0 && !isStopping) logger.warn({ err: error }, failing);
      failures++;
    }
  }

  function begin(): void {
    isRunning = true;
    isWoken = false;
    running = running.then(attempt).then(() => {
      isRunning = false;
      schedule();
    });
  }

  function schedule(): void {
    if (isStopping) return;
    if (isWoken && failures === 0) {
      begin();
      return;
    }
    timer = setTimeout(begin, Math.min(Math.max(RETRY_MAX_MS, intervalMs), intervalMs * 2 ** failures));
    timer.unref();
  }

  return {
    start() {
      isStarted = true;
      schedule();
    },
    wake() {
      if (!isStarted || isStopping) return;
      isWoken = true;
      if (isRunning || failures > 0) return;
      clearTimeout(timer);
      begin();
    },
    round() {
      const round = running.then(() => run(() => isStopping));
      running = round.catch(() => undefined);
      return round;
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await running;
    },
  };
}
