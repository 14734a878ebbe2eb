import type { Logger } from '../../lib/logger.ts';
import type { RollupStore } from './rollup-store.ts';

/** Sums of usage by day, kept up to date in the background: a call is in them some seconds after its end. */
interface Rollups {
  start(): void;
  /** Sums all that is there, unless another node does. For tests. */
  settle(): Promise<void>;
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

interface RollupsParts {
  readonly store: RollupStore;
  /** The billing time zone in force. */
  readonly timezone: () => string;
  readonly logger: Logger;
  /** For tests: how long after a round the next one follows. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2_000;
const RETRY_MAX_MS = 60_000;

/** Creates the job that sums usage. Every node has one; which of them works is decided slice by slice. */
export function createRollups({ store, timezone, logger, intervalMs = INTERVAL_MS }: RollupsParts): Rollups {
  let isStopping = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function sumAll(): Promise<void> {
    while (!isStopping && (await store.sumSlice(timezone())) === 'more');
  }

  async function round(): Promise<void> {
    try {
      await sumAll();
      if (failures > 0) logger.info({}, 'usage is summed again');
      failures = 0;
    } catch (error) {
      if (failures === 0 && !isStopping) {
        logger.warn({ err: error }, 'usage could not be summed; it is tried again, and calls go on');
      }
      failures++;
    }
  }

  function schedule(): void {
    if (isStopping) return;
    timer = setTimeout(
      () => {
        running = round().then(schedule);
      },
      Math.min(RETRY_MAX_MS, intervalMs * 2 ** failures),
    );
    timer.unref();
  }

  return {
    start: schedule,
    settle: sumAll,
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await running;
    },
  };
}
