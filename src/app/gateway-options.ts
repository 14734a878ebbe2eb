import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import type { MetricsPage } from '../api/metrics.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { RequestWorkersOptions } from '../calls/request-workers.ts';
import type { ConfigLoads } from '../config/loads.ts';
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
  /** Open databases. The gateway closes them. */
  readonly databases: Pick<Databases, 'directory' | 'partitions' | 'openNext' | 'figures'>;
  readonly logger: Logger;
  /** Each token needs at least 16 characters. */
  readonly adminTokens: readonly string[];
  /** For this machine's command line. */
  readonly localToken?: string;
  /** Default: not the demo. */
  readonly servedAs?: ServedAs;
  /** Whether no other process uses the database, as with a local database. Default: false. */
  readonly isOnlyNode?: boolean;
  /** Set only if this process is one of several workers. */
  readonly worker?: WorkerOptions | undefined;
  readonly clock?: Clock;
  /** For tests: the database's clock, which determines limits, claims and the billing day. */
  readonly testDatabaseClock?: Clock | undefined;
  /** Monotonic, for the refusal throttle and the duration of requests. */
  readonly monotonicMs?: () => number;
  /** Also receive the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly randomSource?: RandomSource;
  /** For tests. */
  readonly traceTiming?: TracesOptions['timing'];
  readonly timing?: SettlementTiming & QuestionTiming;
  /** How long, and for how many bytes, a stream is read after its client has left. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** Stores the journal. Default: the disk of this machine. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** Default: `config` comes from no file. */
  readonly configLoads?: ConfigLoads;
  /** Aborts a start that waits for locks of other processes. */
  readonly stopped?: AbortSignal;
  /** For tests: checks each management response against its schema. */
  readonly checksResponses?: boolean;
  /** For tests. */
  readonly hashCost?: HashCost;
  /** For tests. */
  readonly notices?: NoticeOptions;
  /** For tests. */
  readonly usageIntervalMs?: number;
}

/** What a worker gets from its primary process. */
export interface WorkerOptions {
  /** This worker's share of the limits. */
  readonly part: Part;
  /** Rate limits that the primary counts for all workers. */
  readonly guesses: Guesses;
  readonly scrapeAll: () => Promise<MetricsPage>;
  readonly readReadiness: ReadReadiness;
}
