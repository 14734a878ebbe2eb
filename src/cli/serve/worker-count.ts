import type { Environment } from '../../config/load.ts';
import { CliError, type GlobalFlags, UsageError } from '../command.ts';

/** Maximum number of workers. More processes than cores have no benefit, and each takes about 100 MB. */
const WORKERS_MAX = 128;

export type WorkersAsked = number | 'auto';

/** Returns the requested number of workers; 1 if none was requested. @throws UsageError */
export function workersAsked({ workers }: GlobalFlags, environment: Environment): WorkersAsked {
  const text = workers ?? (environment.FAREGATE_WORKERS || '1');
  if (text === 'auto') return 'auto';
  const count = Number(text);
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= WORKERS_MAX) return count;
  const source = workers === undefined ? 'FAREGATE_WORKERS' : '--workers';
  throw new UsageError(`${source}: Expected a whole number from 1 to ${WORKERS_MAX}, or "auto".`);
}

/**
 * Returns the number of workers that serve. `auto`: one per core, or 1 for the demo.
 *
 * @throws CliError if several workers are requested for the demo
 */
export function workersFor(asked: WorkersAsked, { isDemo, cores }: { isDemo: boolean; cores: number }): number {
  if (asked === 'auto') return isDemo ? 1 : Math.min(cores, WORKERS_MAX);
  if (asked > 1 && isDemo) {
    throw new CliError(
      `The demo has one process, but ${asked} workers are requested. Leave --workers and FAREGATE_WORKERS out, or write a ` +
        'configuration with "faregate init" and set DATABASE_URL to a PostgreSQL.',
    );
  }
  return asked;
}
