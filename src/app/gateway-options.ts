import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import type { MetricsPage } from '../api/metrics.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { RequestWorkersOptions } from '../calls/request-workers.ts';
import type { ConfigLoads } from '../config/loads.ts';
import type { NodeConfig } from '../config/node-config.ts';
import type { Config } from '../config/schema.ts';
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

export interface GatewayOptions {
  readonly config: Config;
  /** Open databases. The gateway closes them when it is closed. */
  readonly databases: Pick<Databases, 'directory' | 'partitions' | 'openNext' | 'figures'>;
  readonly logger: Logger;
  /** Tokens that grant access to the admin API, each with at least 16 characters. */
  readonly adminTokens: readonly string[];
  /** The admin token of this machine's command line. Only this token can export the database. */
  readonly localToken?: string;
  /** Whether this is the demo. Default: it is not. */
  readonly servedAs?: ServedAs;
  /** Whether no other process uses the database, which is true of a local database. Default: false. */
  readonly isOnlyNode?: boolean;
  /** Services of the primary process. Undefined unless this process is one of several workers. */
  readonly worker?: WorkerOptions | undefined;
  readonly clock?: Clock;
  /** For tests: replaces the database's clock, which determines limits, claims and the billing day. */
  readonly testDatabaseClock?: Clock | undefined;
  /** A monotonic clock in milliseconds, for the rate of refusals and the duration of requests. */
  readonly monotonicMs?: () => number;
  /** Additional observers, which receive the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly randomSource?: RandomSource;
  /** For tests: the timing of span exports. */
  readonly traceTiming?: TracesOptions['timing'];
  readonly timing?: SettlementTiming & QuestionTiming;
  /** Maximum time and maximum number of bytes for which a stream is read after its client has disconnected. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** The disk that stores the journal. Default: the disk of this machine. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** The sources of `config`. Default: none, so that the catalog cannot be changed. */
  readonly node?: NodeConfig;
  /** For tests: the time in milliseconds after which a pushed revision of the catalog is in force. */
  readonly revisionLeadMs?: number;
  /** Records the source of `config` and later loads. Default: `config` comes from no file. */
  readonly configLoads?: ConfigLoads;
  /** Aborts a start that waits for locks of other processes. */
  readonly stopped?: AbortSignal;
  /** For tests: checks each response of the admin API and the account API against its schema. */
  readonly checksResponses?: boolean;
  /** For tests: the cost of password hashes. */
  readonly hashCost?: HashCost;
  /** For tests: the timing of notices. */
  readonly notices?: NoticeOptions;
  /** For tests: the interval in milliseconds at which usage is summed. */
  readonly usageIntervalMs?: number;
}

/** Services that a worker process gets from the primary process. */
export interface WorkerOptions {
  /** This worker's share of the limits. */
  readonly part: Part;
  /** Rate limits of guesses, which the primary counts for all workers. */
  readonly guesses: Guesses;
  /** Returns the metrics of all workers. */
  readonly scrapeAll: () => Promise<MetricsPage>;
  /** Returns whether all workers are ready. */
  readonly readReadiness: ReadReadiness;
}
