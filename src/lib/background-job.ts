import type { Logger } from './logger.ts';

export interface BackgroundJob {
  start(): void;
  /** Starts a round now or, during a round, directly after it. */
  wake(): void;
  /** For tests: runs a round after the current one. Rejects with the error of that round. */
  round(): Promise<void>;
  stop(): Promise<void>;
}

interface BackgroundJobDependencies {
  /** Pause between two rounds. After failures it is longer. */
  readonly intervalMs: number;
  /** Does the work of one round. Once `isStopping` returns true, it must return soon, even with work left. */
  readonly run: (isStopping: () => boolean) => Promise<void>;
  readonly logger: Logger;
  /** Log message of the first round that fails. The next member is that of the first round that succeeds again. */
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
