import type { Logger } from '../../lib/logger.ts';
import { editCatalog } from '../catalog-text.ts';
import type { CatalogChange } from '../difference.ts';
import type { CatalogReader } from '../revisions/catalog-reader.ts';
import type { NodeCatalog } from '../revisions/node-catalog.ts';
import type { RevisionStore } from '../revisions/revisions-store.ts';
import type { Revision } from '../revisions/tables.ts';
import type { Config } from '../schema.ts';
import { PriceFileError } from './errors.ts';
import { followedModels, type PriceSourceConfig } from './lookups.ts';
import { type ModelChange, type NotFollowed, priceChanges } from './price-changes.ts';
import type { PriceSourceRead, PriceSourceStore, ReadOutcome } from './price-source-store.ts';
import { readPricesInThread } from './price-thread.ts';
import type { SourcePrices } from './source-prices.ts';
import { readSourceText, type SourceAccess } from './source-text.ts';

/** What a read of the price source has led to. */
export interface PriceSourceResult {
  readonly outcome: ReadOutcome;
  /** Why the read failed; otherwise `null`. */
  readonly message: string | null;
  /** The draft, or the revision that was put in force. A draft with the same prices may have been discarded earlier. */
  readonly revision: Revision | null;
  /** Whether no earlier read has led to this result. */
  readonly isNew: boolean;
  readonly changes: readonly CatalogChange[];
  readonly notFollowed: readonly NotFollowed[];
}

/** A read that has ended, for notices and records. */
export interface EndedRead extends PriceSourceResult {
  readonly read: PriceSourceRead;
  /** The address or path of the source. */
  readonly source: string;
  readonly isRequested: boolean;
}

interface PriceSourceOptions {
  /** Names this process in the lease. */
  readonly node: string;
  readonly store: PriceSourceStore;
  readonly revisions: RevisionStore;
  readonly reader: CatalogReader;
  readonly nodeCatalog: NodeCatalog;
  /** The configuration in force. */
  readonly config: () => Config;
  readonly access: SourceAccess;
  readonly onEnd: (ended: EndedRead) => Promise<void>;
  readonly logger: Logger;
}

/** A failed read is repeated after this time, or after the usual one if that is shorter. */
const RETRY_MS = 900_000;
/** The catalog may change while its prices are compared. */
const ATTEMPTS_MAX = 3;
const AUTHOR = 'price source';

export type ReadCounts = Readonly<Record<ReadOutcome, number>>;

/**
 * Follows the prices of `priceSource`. Differences become a draft revision, or are put in force if `applyBelowPercent` allows it. With `catalog: file` they
 * are only reported. One node at a time reads, and all nodes together read once per period. While the source fails, the present prices stay.
 */
export class PriceSource {
  readonly #options: PriceSourceOptions;
  readonly #stopping = new AbortController();
  readonly #counts: Record<ReadOutcome, number> = { unchanged: 0, draft: 0, applied: 0, changed: 0, failed: 0 };
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: PriceSourceOptions) {
    this.#options = options;
  }

  /** Reads of this process by outcome. */
  get counts(): ReadCounts {
    return this.#counts;
  }

  get settings(): PriceSourceConfig | null {
    return this.#options.config().priceSource ?? null;
  }

  /** The last read of all nodes; `null`: there was none. */
  lastRead(): Promise<PriceSourceRead | null> {
    return this.#options.store.last();
  }

  /** Reads the source if that is due. */
  async readIfDue(): Promise<void> {
    const { settings } = this;
    if (settings === null) return;
    const { every } = settings;
    await this.#begin(settings, every, Math.min(every, RETRY_MS), false);
  }

  /** Reads the source at once; `null`: another read is in progress. The caller checks that there is a source. */
  readNow(settings: PriceSourceConfig): Promise<PriceSourceResult | null> {
    return this.#begin(settings, 0, 0, true);
  }

  /** Aborts a read, and resolves when its end is recorded. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #begin(
    settings: PriceSourceConfig,
    afterMs: number,
    afterFailureMs: number,
    isRequested: boolean,
  ): Promise<PriceSourceResult | null> {
    const { node, store } = this.#options;
    const read = await store.begin(node, afterMs, afterFailureMs);
    if (read === null) return null;
    const running = this.#run(settings, read, isRequested);
    this.#running = running.catch(() => undefined);
    return running;
  }

  async #run(settings: PriceSourceConfig, read: PriceSourceRead, isRequested: boolean): Promise<PriceSourceResult> {
    const { node, store, logger } = this.#options;
    const source = settings.url ?? settings.file!;
    let result: PriceSourceResult;
    try {
      result = await this.#read(settings);
    } catch (error) {
      const message = error instanceof PriceFileError ? error.message : 'The prices could not be compared.';
      logger.warn({ err: error, source }, 'failed to read the price source; the present prices stay in force');
      result = { ...NOTHING, outcome: 'failed', message };
    }
    const { outcome, message, revision } = result;
    this.#counts[outcome]++;
    await store.end(node, { outcome, message, revision: revision?.number ?? null });
    if (!this.#stopping.signal.aborted) await this.#report({ ...result, read, source, isRequested });
    return result;
  }

  async #report(ended: EndedRead): Promise<void> {
    const { onEnd, logger } = this.#options;
    try {
      await onEnd(ended);
    } catch (error) {
      logger.error({ err: error }, 'failed to report a read of the price source');
    }
  }

  async #read(settings: PriceSourceConfig): Promise<PriceSourceResult> {
    const text = await readSourceText(settings, this.#options.access, this.#stopping.signal);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const result = await this.#follow(settings, text);
      if (result !== null) return result;
    }
    throw new PriceFileError('The catalog kept changing while the prices were compared.');
  }

  /** `null`: the catalog has changed meanwhile. */
  async #follow(settings: PriceSourceConfig, sourceText: string): Promise<PriceSourceResult | null> {
    const { revisions, reader, nodeCatalog, config: configInForce } = this.#options;
    const isInDatabase = nodeCatalog.mode === 'database';
    const last = isInDatabase ? await revisions.last() : null;
    const present = isInDatabase ? (last?.text ?? '') : nodeCatalog.textOfFile();
    const config = isInDatabase ? reader.read(present) : configInForce();
    if (config === null) throw new PriceFileError('The last revision of the catalog cannot be used on this node.');
    const followed = followedModels(config, settings);
    const lookups = followed.flatMap(({ price, costs }) => [
      ...(price === null ? [] : [price]),
      ...costs.map(({ lookup }) => lookup),
    ]);
    const terms = { usdCny: settings.usdCny, marginPercent: settings.marginPercent };
    const prices: SourcePrices = await readPricesInThread({ text: sourceText, lookups, terms });
    const wanted = priceChanges(config, followed, prices);
    const { changes, refused } = this.#usable(present, wanted.changes);
    const notFollowed = [...wanted.notFollowed, ...refused];
    if (changes.length === 0) {
      if (isInDatabase) await revisions.discardFeedDrafts(AUTHOR);
      return { ...NOTHING, notFollowed };
    }

    const text = editCatalog(
      present,
      changes.flatMap(({ edits }) => edits),
    );
    const result = { ...NOTHING, isNew: true, changes: reader.compare(present, text) ?? [], notFollowed };
    if (!isInDatabase) return { ...result, outcome: 'changed' };
    const revision = {
      text,
      source: 'feed',
      base: last?.number ?? null,
      reason: `price source ${settings.url ?? settings.file}`,
      createdBy: AUTHOR,
    } as const;
    const { applyBelowPercent } = settings;
    const isSmall = applyBelowPercent !== undefined && changes.every((change) => change.isWithin(applyBelowPercent));
    if (isSmall && reader.check(text).problems.length === 0) {
      const inserted = await revisions.insert({ ...revision, inForceAtMs: null });
      if (!('conflict' in inserted)) {
        await revisions.discardFeedDrafts(AUTHOR);
        return { ...result, outcome: 'applied', revision: inserted };
      }
      if (inserted.conflict === 'outdated') return null;
      // Another revision is scheduled, and would be undone. A person decides.
    }
    const { draft, isNew } = await revisions.insertDraft(revision);
    return { ...result, outcome: draft.canceledAtMs === null ? 'draft' : 'unchanged', revision: draft, isNew };
  }

  /** Leaves out models whose changes would make the catalog invalid. */
  #usable(
    present: string,
    changes: readonly ModelChange[],
  ): { readonly changes: readonly ModelChange[]; readonly refused: readonly NotFollowed[] } {
    const { reader } = this.#options;
    const isValid = (edits: readonly ModelChange[]): boolean =>
      reader.read(
        editCatalog(
          present,
          edits.flatMap((change) => change.edits),
        ),
      ) !== null;
    if (changes.length === 0 || isValid(changes)) return { changes, refused: [] };
    const usable = changes.filter((change) => isValid([change]));
    const refused = changes.filter((change) => !usable.includes(change));
    return {
      changes: usable,
      refused: refused.map(({ model }) => ({
        model,
        why: 'with the prices of the source, the catalog would not be valid',
      })),
    };
  }
}

const NOTHING: PriceSourceResult = {
  outcome: 'unchanged',
  message: null,
  revision: null,
  isNew: false,
  changes: [],
  notFollowed: [],
};
