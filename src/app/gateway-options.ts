import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import type { MetricsPage } from '../api/metrics.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { RequestWorkersOptions } from '../calls/request-workers.ts';
import type { ConfigLoads } from '../config/loads.ts';
import type { NodeConfig } from '../config/node-config.ts';
import type { Config } from '../config/schema.ts';
import type { SealingKey } from '../config/sealed-secrets/sealing.ts';
import type { Databases } from '../db/databases.ts';
import type { ServedAs } from '../db/demo-mark.ts';
import type { QuestionTiming } from '../db/questions/database-questions.ts';
import type { ReadReadiness } from '../http/health.ts';
import type { Disk } from '../journal/disk.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Part } from '../lib/part.ts';
import type { HashCost } from '../people/passwords.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import type { TracesOptions } from '../telemetry/traces.ts';
import type { Guesses } from './guesses.ts';
import type { NoticeOptions } from './notices.ts';
import type { PriceSourceTiming } from './price-source.ts';

export interface GatewayOptions {
  readonly config: Config;
  /** Databases, which the gateway closes. */
  readonly databases: Pick<Databases, 'directory' | 'partitions' | 'openNext' | 'figures'>;
  readonly logger: Logger;
  /** Admin tokens of at least 16 characters. */
  readonly adminTokens: readonly string[];
  /** Token for the command line of this machine. */
  readonly localToken?: string;
  /** Whether the gateway is the demo; absent: it is not. */
  readonly servedAs?: ServedAs;
  /** Whether no other process uses the database, as with a local one. */
  readonly isOnlyNode?: boolean;
  /** Present in a worker. */
  readonly worker?: WorkerOptions | undefined;
  readonly clock?: Clock;
  /** For tests: replaces the database's clock, which determines limits, claims and the billing day. */
  readonly testDatabaseClock?: Clock | undefined;
  /** A monotonic clock, for the refusal throttle and the duration of requests. */
  readonly monotonicMs?: () => number;
  /** Observers that also receive the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly randomSource?: RandomSource;
  /** For tests. */
  readonly traceTiming?: TracesOptions['timing'];
  readonly timing?: SettlementTiming & QuestionTiming;
  /** Limits on reading a stream after its client has left. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** Disk of the journal; absent: that of this machine. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** Sources of `config`; absent: there are none, so the catalog cannot be changed. */
  readonly node?: NodeConfig;
  /** For tests: milliseconds until a pushed revision of the catalog is in force. */
  readonly revisionLeadMs?: number;
  /** Keys of this process for sealed secrets; absent: none. @throws SealingKeyError */
  readonly sealingKeys?: () => readonly SealingKey[];
  /** Status of the source of `config`, and of later loads; absent: `config` comes from no file. */
  readonly configLoads?: ConfigLoads;
  /** Aborts a start that waits for locks of other processes. */
  readonly stopped?: AbortSignal;
  /** For tests: whether every management response is checked against its schema. */
  readonly checksResponses?: boolean;
  /** For tests. */
  readonly hashCost?: HashCost;
  /** For tests. */
  readonly notices?: NoticeOptions;
  /** For tests. */
  readonly priceSource?: PriceSourceTiming | undefined;
  /** For tests. */
  readonly usageIntervalMs?: number;
}

/** What the primary process does for a worker. */
export interface WorkerOptions {
  readonly part: Part;
  readonly guesses: Guesses;
  readonly scrapeAll: () => Promise<MetricsPage>;
  readonly readReadiness: ReadReadiness;
}
