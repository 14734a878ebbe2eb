import { difference } from '../config/difference.ts';
import { sentenceOf } from '../config/difference-text.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import type { RevisionStore } from '../config/revisions/revisions-store.ts';
import { CATALOG_SECTIONS, type Config } from '../config/schema.ts';
import { changedSettings } from '../config/watch.ts';
import type { Logger } from '../lib/logger.ts';
import type { AuditLog } from './audit-log.ts';
import { changeElsewhere } from './change.ts';

interface ReloadLogOptions {
  readonly log: Pick<AuditLog, 'note'>;
  readonly revisions: Pick<RevisionStore, 'record'>;
  readonly catalog: Pick<NodeCatalog, 'node' | 'mode' | 'textOfFile'>;
  readonly nodeId: string;
  readonly logger: Logger;
}

/**
 * Records reloads of the configuration in the audit log, in the background: what changed in the catalog, and the names of other settings,
 * never secrets. If the catalog is in the file, its text is recorded as a revision, too.
 */
export class ReloadLog {
  readonly #options: ReloadLogOptions;
  #pending: Promise<void> = Promise.resolve();
  /** The last refusal, as long as no configuration is applied: a file that stays invalid is read again with each file that it names. */
  #refusal: string | null = null;

  constructor(options: ReloadLogOptions) {
    this.#options = options;
  }

  /** Records that a configuration is in force. */
  record(before: Config, after: Config): void {
    this.#refusal = null;
    this.#note('config.reload', { changes: describeChanges(before, after) });
    this.recordCatalog();
  }

  /** Records that the file could not be used. */
  refuse(message: string): void {
    if (message === this.#refusal) return;
    this.#refusal = message;
    this.#note('config.refused', { message });
  }

  /** Records the catalog of the file as a revision, unless it is the one that was recorded last. */
  recordCatalog(): void {
    const { revisions, catalog, nodeId } = this.#options;
    if (catalog.mode !== 'file' || catalog.node === null) return;
    const text = catalog.textOfFile();
    this.#later(() => revisions.record({ text, createdBy: nodeId }));
  }

  #note(action: string, after: object): void {
    const { log, nodeId } = this.#options;
    this.#later(() => log.note(changeElsewhere('configuration', action, 'node', nodeId), after));
  }

  #later(work: () => Promise<unknown>): void {
    this.#pending = this.#pending
      .then(async () => {
        await work();
      })
      .catch((error: unknown) => {
        this.#options.logger.error({ err: error }, 'failed to record a reload in the audit log');
      });
  }

  /** Resolves when all reloads are recorded. */
  stop(): Promise<void> {
    return this.#pending;
  }
}

function describeChanges(before: Config, after: Config): string[] {
  const sections = new Set(changedSettings(before, after).map((setting) => setting.split('.')[0]!));
  const ofNode = [...sections].filter((name) => !(CATALOG_SECTIONS as readonly string[]).includes(name));
  return [...difference(before, after).map(sentenceOf), ...ofNode.map((name) => `${name} changed`)];
}
