import type { Config } from '../config/schema.ts';
import { changedSettings } from '../config/watch.ts';
import type { Logger } from '../lib/logger.ts';
import type { AuditLog } from './audit-log.ts';
import { changeElsewhere } from './change.ts';

interface ReloadLogOptions {
  readonly log: Pick<AuditLog, 'note'>;
  readonly nodeId: string;
  readonly logger: Logger;
}

/** Records the names of changed sections in the background, never values. */
export class ReloadLog {
  readonly #options: ReloadLogOptions;
  #pending: Promise<void> = Promise.resolve();

  constructor(options: ReloadLogOptions) {
    this.#options = options;
  }

  record(before: Config, after: Config): void {
    const { log, nodeId, logger } = this.#options;
    const changed = new Set(changedSettings(before, after).map((setting) => setting.split('.')[0]!));
    this.#pending = this.#pending
      .then(() =>
        log.note(changeElsewhere('configuration', 'config.reload', 'node', nodeId), { changed: [...changed] }),
      )
      .catch((error: unknown) => {
        logger.error({ err: error }, 'failed to record a reload in the audit log');
      });
  }

  /** Resolves when all reloads are recorded. */
  stop(): Promise<void> {
    return this.#pending;
  }
}
