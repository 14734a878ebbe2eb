import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import type { AbortLimits } from '../calls/relay/client-abort.ts';
import type { RequestWorkersOptions } from '../calls/request-workers.ts';
import type { ConfigLoads } from '../config/loads.ts';
import type { Config } from '../config/schema.ts';
import type { Databases } from '../db/databases.ts';
import type { ServedAs } from '../db/demo-mark.ts';
import type { QuestionTiming } from '../db/questions/database-questions.ts';
import type { Disk } from '../journal/disk.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { HashCost } from '../people/passwords.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import type { TracesOptions } from '../telemetry/traces.ts';
import type { NoticeOptions } from './notices.ts';
import type { WorkerOptions } from './worker-options.ts';

/** What a gateway is made of, beside what it wires itself. */
export interface GatewayOptions {
  readonly config: Config;
  /** Open; `close` of the gateway closes them. */
  readonly databases: Pick<Databases, 'directory' | 'partitions' | 'openNext' | 'figures'>;
  readonly logger: Logger;
  /** Credentials of the admin API, each of 16 characters at least. */
  readonly adminTokens: readonly string[];
  /** The one of them that the command line of this machine has, and that alone may export the database. */
  readonly localToken?: string;
  /** Whether it is the demo that serves; by default it is not. */
  readonly servedAs?: ServedAs;
  /** Whether no other process uses the database, as a local one; by default others may. */
  readonly isOnlyNode?: boolean;
  /** What it has from the primary, if it is one of several workers. */
  readonly worker?: WorkerOptions | undefined;
  readonly clock?: Clock;
  /** For tests: in place of the database's clock, by which limits, claims and the billing day are decided. */
  readonly testDatabaseClock?: Clock | undefined;
  /** The clock that measures the rate of refusals, and how long requests take, in milliseconds; it never goes back. */
  readonly monotonicMs?: () => number;
  /** What else gets the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly randomSource?: RandomSource;
  /** For tests: how long spans wait for others. */
  readonly traceTiming?: TracesOptions['timing'];
  readonly timing?: SettlementTiming & QuestionTiming;
  /** How long, and how many bytes, the rest of a stream is awaited after its client has left. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** The disk of the journal; that of this machine by default. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** Where `config` comes from; by default from no file. */
  readonly configLoads?: ConfigLoads;
  /** Ends the waiting for locks of others, with its reason. */
  readonly stopped?: AbortSignal;
  /** For tests: whether each response of the admin API and the account API is checked by its schema. */
  readonly checksResponses?: boolean;
  /** For tests: what the hash of a password costs. */
  readonly hashCost?: HashCost;
  /** For tests: how notices are looked for and sent. */
  readonly notices?: NoticeOptions;
  /** For tests: how often usage is summed. */
  readonly usageIntervalMs?: number;
}
