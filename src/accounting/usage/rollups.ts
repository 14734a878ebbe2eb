import { type BackgroundJob, createBackgroundJob } from '../../lib/background-job.ts';
import type { Logger } from '../../lib/logger.ts';
import type { RollupStore } from './rollup-store.ts';

interface RollupsDependencies {
  readonly store: RollupStore;
  readonly timezone: () => string;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2_000;

/** Sums usage by day. A lock in the database assigns each batch to one node. Sums include a call some seconds after its end. */
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
