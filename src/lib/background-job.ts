import type { Logger } from './logger.ts';

/** Work that is done again and again, in the background of a node. */
export interface BackgroundJob {
  start(): void;
  /** Begins the next round now, or after the one under way. */
  wake(): void;
  /** Runs one round now, after the one under way; it throws what the round throws. For tests. */
  round(): Promise<void>;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

interface BackgroundJobParts {
  /** How long after a round the next one follows; after failures it is longer. */
  readonly intervalMs: number;
  /** Ends soon, with a part of its work, once `isStopping` says so. */
  readonly run: (isStopping: () => boolean) => Promise<void>;
  readonly logger: Logger;
  /** What the log says where rounds begin to fail, and where one succeeds again. */
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
}: BackgroundJobParts): BackgroundJob {
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
      // Once for each time that it begins to fail.
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
