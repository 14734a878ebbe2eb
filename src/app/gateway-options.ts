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
  /** Open; `close` of the gateway closes them. */
  readonly databases: Pick<Databases, 'directory' | 'partitions' | 'openNext' | 'figures'>;
  readonly logger: Logger;
  /** Credentials of the admin API, of at least 16 characters each. */
  readonly adminTokens: readonly string[];
  /** The admin token of this machine's command line. Only this token can export the database. */
  readonly localToken?: string;
  /** Whether this is the demo; by default it is not. */
  readonly servedAs?: ServedAs;
  /** Whether no other process uses the database, such as a local one; false by default. */
  readonly isOnlyNode?: boolean;
  /** What the primary provides, if this process is one of several workers. */
  readonly worker?: WorkerOptions | undefined;
  readonly clock?: Clock;
  /** For tests: replaces the database's clock, which determines limits, claims and the billing day. */
  readonly testDatabaseClock?: Clock | undefined;
  /** A monotonic clock in milliseconds, for the rate of refusals and the duration of requests. */
  readonly monotonicMs?: () => number;
  /** More observers of every request's report. */
  readonly observers?: readonly RequestObserver[];
  readonly randomSource?: RandomSource;
  /** For tests: how long spans wait for others. */
  readonly traceTiming?: TracesOptions['timing'];
  readonly timing?: SettlementTiming & QuestionTiming;
  /** How much longer, and how many more bytes, a stream is read after its client has disconnected. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** The disk of the journal; by default that of this machine. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** The source of `config`; by default no file. */
  readonly configLoads?: ConfigLoads;
  /** Aborts a start that waits for locks of other processes. */
  readonly stopped?: AbortSignal;
  /** For tests: checks each response of the admin API and the account API against its schema. */
  readonly checksResponses?: boolean;
  /** For tests: the cost of password hashes. */
  readonly hashCost?: HashCost;
  /** For tests. */
  readonly notices?: NoticeOptions;
  /** For tests: how often usage is summed. */
  readonly usageIntervalMs?: number;
}

/** What a worker gets from the primary. */
export interface WorkerOptions {
  /** This worker's share of the limits. */
  readonly part: Part;
  /** Counted by the primary for all workers. */
  readonly guesses: Guesses;
  /** Returns the metrics of all workers. */
  readonly scrapeAll: () => Promise<MetricsPage>;
  /** Returns whether all workers are ready. */
  readonly readReadiness: ReadReadiness;
}
