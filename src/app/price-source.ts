import type { AuditLog } from '../changes/audit-log.ts';
import { changeElsewhere } from '../changes/change.ts';
import { sentenceOf } from '../config/difference-text.ts';
import { type EndedRead, PriceSource } from '../config/price-source/price-source.ts';
import { createPriceSourceStore } from '../config/price-source/price-source-store.ts';
import type { SourceAccess } from '../config/price-source/source-text.ts';
import type { CatalogReader } from '../config/revisions/catalog-reader.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import type { RevisionStore } from '../config/revisions/revisions-store.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryPool } from '../db/home-pools.ts';
import { type BackgroundJob, createBackgroundJob } from '../lib/background-job.ts';
import type { Logger } from '../lib/logger.ts';
import { resolveByName } from '../lib/outgoing/target.ts';
import type { DueNotice } from '../notices/notice.ts';
import { allowedNetworks } from '../notices/notice-terms.ts';
import { noticeOfRead } from '../notices/price-notices.ts';

/** For tests. */
export interface PriceSourceTiming extends Partial<Pick<SourceAccess, 'resolve' | 'deadlineMs' | 'ca'>> {
  readonly intervalMs?: number;
}

interface PriceSourceDependencies {
  readonly node: string;
  readonly pool: DirectoryPool;
  readonly revisions: RevisionStore;
  readonly reader: CatalogReader;
  readonly nodeCatalog: NodeCatalog;
  readonly config: () => Config;
  readonly logger: Logger;
  readonly onEnd?: (ended: EndedRead) => Promise<void>;
  readonly options?: PriceSourceTiming | undefined;
}

export function createPriceSource({
  pool,
  config,
  options = {},
  onEnd = async () => undefined,
  ...deps
}: PriceSourceDependencies): PriceSource {
  return new PriceSource({
    ...deps,
    config,
    onEnd,
    store: createPriceSourceStore(pool),
    access: { allowed: allowedNetworks(config), resolve: resolveByName, ...options },
  });
}

/** Records what the source has changed by itself, and notifies operators. */
export function reportReads(
  log: Pick<AuditLog, 'note'>,
  notify: (notice: DueNotice) => Promise<void>,
): (ended: EndedRead) => Promise<void> {
  return async (ended) => {
    const { outcome, revision, changes, isRequested } = ended;
    // The request is recorded already.
    if (outcome === 'applied' && revision !== null && !isRequested) {
      const { number, reason } = revision;
      const change = changeElsewhere('price_source', 'catalog.prices.follow', 'catalog', String(number));
      await log.note(change, { number, reason, changes: changes.map(sentenceOf) });
    }
    const notice = noticeOfRead(ended);
    if (notice !== null) await notify(notice);
  };
}

const INTERVAL_MS = 60_000;

/** Reads the source when that is due. */
export function createPriceSourceJob(
  priceSource: PriceSource,
  logger: Logger,
  { intervalMs = INTERVAL_MS }: PriceSourceTiming = {},
): BackgroundJob {
  return createBackgroundJob({
    intervalMs,
    run: () => priceSource.readIfDue(),
    logger,
    failing: 'failed to follow the price source; retrying (calls are not affected)',
    recovered: 'following the price source works again',
  });
}
