import type { ManagementChange } from '../api/management/serve.ts';
import type { Logger } from '../lib/logger.ts';

/** Logs a line for each change that is made through the admin API or the account API. */
export function logChange(logger: Logger): (change: ManagementChange) => void {
  return ({ by, ...change }) => {
    const byId = 'id' in by && by.id !== null ? { byId: by.id } : {};
    logger.info({ by: by.kind, ...byId, ...change }, 'a change by the admin API');
  };
}
