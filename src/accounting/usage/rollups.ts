import { type BackgroundJob, createBackgroundJob } from '../../lib/background-job.ts';
import type { Logger } from '../../lib/logger.ts';
import type { RollupStore } from './rollup-store.ts';

interface RollupsDependencies {
  readonly store: RollupStore;
  /** Returns the billing time zone in force. */
  readonly timezone: () => string;
  readonly logger: Logger;
  /** For tests: the pause between rounds in milliseconds. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2_000;

/**
 * Creates the job that sums usage by day. The sums include a call some seconds after its end. Every node runs the job; a lock in the
 * database assigns each batch to one node.
 */
export function createRollups({
  store,
  timezone,
  logger,
  intervalMs = INTERVAL_MS,
}: RollupsDependencies): Pick<BackgroundJob, 'start' | 'round' | 'stop'> {
  return createBackgroundJob({
    intervalMs,
    async run(isStopping) {
      while (!isStopping() && (await store.sumSlice(timezone())) === 'more');
    },
    logger,
    failing: 'summing usage failed; retrying while calls continue',
    recovered: 'summing usage resumed',
  });
}
