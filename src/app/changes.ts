import type { ManagementChange } from '../api/management/serve.ts';
import { changeElsewhere } from '../changes/change.ts';
import { type ChangeLog, createChangeLog } from '../changes/change-log.ts';
import { type ChangesStore, createChangesStore } from '../changes/changes-store.ts';
import type { Config } from '../config/schema.ts';
import { changedSettings } from '../config/watch.ts';
import type { DirectoryDatabase } from '../db/home-lanes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { requestLane } from './lanes.ts';

export interface Changes {
  readonly store: Pick<ChangesStore, 'list'>;
  readonly housekeeping: Pick<ChangesStore, 'deleteBefore'>;
  readonly log: ChangeLog;
  /** Records in the background that a node goes on with another configuration: the names of its sections, and no values. */
  configurationChanged(before: Config, after: Config): void;
  /** Resolves when nothing is being written in the background. */
  stop(): Promise<void>;
}

interface ChangesParts {
  readonly directory: DirectoryDatabase;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** Wires the change log of a gateway. */
export function createChanges({ directory, nodeId, ...parts }: ChangesParts): Changes {
  const store = createChangesStore(requestLane(directory.lane('admin')));
  const log = createChangeLog({ store, ...parts });
  /** Reloads are seconds apart. */
  let noted: Promise<void> = Promise.resolve();
  return {
    store,
    log,
    housekeeping: createChangesStore(directory.lane('housekeeping')),
    configurationChanged(before, after) {
      const changed = new Set(changedSettings(before, after).map((setting) => setting.split('.')[0]!));
      noted = noted
        .then(() =>
          log.note(changeElsewhere('configuration', 'config.reload', 'node', nodeId), { changed: [...changed] }),
        )
        .catch((error: unknown) => {
          parts.logger.error({ err: error }, 'a reload could not be written to the change log');
        });
    },
    stop: () => noted,
  };
}

/** Logs a line for each change that is made through the admin API or the account API. */
export function logChange(logger: Logger): (change: ManagementChange) => void {
  return ({ by, ...change }) => {
    const byId = 'id' in by && by.id !== null ? { byId: by.id } : {};
    logger.info({ by: by.kind, ...byId, ...change }, 'a change by the admin API');
  };
}
