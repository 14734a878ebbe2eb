import { type BackgroundJob, createBackgroundJob } from '../../lib/background-job.ts';
import type { Logger } from '../../lib/logger.ts';
import type { RollupStore } from './rollup-store.ts';

interface RollupsParts {
  readonly store: RollupStore;
  /** The billing time zone in force. */
  readonly timezone: () => string;
  readonly logger: Logger;
  /** For tests: how long after a round the next one follows. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2_000;

/**
 * Creates the job that sums usage by day: a call is in the sums some seconds after its end. Every node has one; which of them works is decided
 * slice by slice.
 */
export function createRollups({
  store,
  timezone,
  logger,
  intervalMs = INTERVAL_MS,
}: RollupsParts): Pick<BackgroundJob, 'start' | 'round' | 'stop'> {
  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      while (!isStopping() && (await store.sumSlice(timezone())) === 'more');
    },
    logger,
    failing: 'usage could not be summed; it is tried again, and calls go on',
    recovered: 'usage is summed again',
  });
}
