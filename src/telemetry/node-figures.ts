import type { PoolTasks } from '../calls/request-workers.ts';
import type { ReadCounts } from '../config/price-source/price-source.ts';
import type { RouteStatus } from '../providers/routing/health.ts';
import type { CredentialCounts } from '../providers/upstream/credentials.ts';
import type { EventLoopDelays } from './event-loop.ts';
import { metricsOf, type ReadMetric } from './metric.ts';

export interface NodeFigures {
  readonly build: { readonly version: string; readonly nodeVersion: string; readonly engine: string };
  /** Configured number of workers; 1 for a single process. */
  readonly workers: number;
  /** Whether `/readyz` reports the node as ready. */
  readonly isReady: boolean;
  readonly reload: { readonly isInForce: boolean; readonly lastAtMs: number };
  /** Numbers of revisions of the catalog; `null`: none, or the catalog is in the file. */
  readonly catalog: {
    readonly inForce: number | null;
    readonly scheduled: number | null;
    readonly failed: number | null;
  };
  /** Reads of the price source by this process, by outcome. */
  readonly priceSourceReads: ReadCounts;
  readonly requestsInFlight: number;
  readonly connections: { readonly open: number; readonly max: number };
  readonly refusalsDelayed: number;
  readonly callsQueued: number;
  readonly reservations: { readonly open: number; readonly waiting: number; readonly doubtful: number };
  readonly settlements: { readonly waiting: number; readonly unwritten: number };
  /** Calls of dead nodes that this process has recorded as unresolved. */
  readonly callsUnresolved: number;
  readonly journal: { readonly entries: number; readonly fileBytes: number; readonly isWritable: boolean };
  readonly claims: number;
  readonly cachedKeys: number;
  readonly database: {
    readonly isUp: boolean;
    readonly isSilent: boolean;
    readonly isNotified: boolean;
    readonly clockAheadMs: number;
    readonly pools: readonly PoolFigures[];
    /** Partitions. `isSilent`: the last query that a call made there has timed out. */
    readonly partitions: readonly { readonly number: number; readonly isSilent: boolean }[];
    /** Number of partitions that were added since the node started. */
    readonly partitionsUnopened: number;
  };
  readonly providers: readonly ProviderFigures[];
  readonly routes: readonly RouteFigures[];
  /** Limits of providers, routes and credentials; empty: there are none. */
  readonly providerLimits: readonly ProviderLimitFigures[];
  readonly vendorLimits: readonly VendorLimitFigures[];
  readonly requestWorkers: readonly PoolTasks[];
  readonly bodies: { readonly used: BodySizes; readonly max: BodySizes };
  /** Figures about notices. Attempts are counted from the start of the process. */
  readonly notices: {
    readonly delivered: number;
    readonly failed: number;
    readonly inFlight: number;
    readonly due: number;
  };
  readonly eventLoop: EventLoopDelays;
}

interface BodySizes {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** Figures of a connection pool, counted from the start of the process. */
interface PoolFigures {
  readonly name: string;
  readonly used: number;
  readonly connectionsMax: number;
  readonly waiting: number;
  readonly begun: number;
  readonly waitedMs: number;
  readonly refused: number;
}

export interface ProviderFigures {
  readonly id: string;
  readonly callsInFlight: number;
  readonly callsMax: number;
  readonly callsWaiting: number;
  /** Calls that were refused. A change of the provider's configuration resets this count. */
  readonly callsRefused: number;
  readonly connectionsOpen: number;
  readonly credentials: CredentialCounts;
}

export interface RouteFigures {
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly state: RouteStatus['state'];
  /** Number of accounts whose own breaker is open, because their calls keep failing. */
  readonly accountsLeftOut: number;
}

export interface ProviderLimitFigures {
  readonly provider: string;
  readonly of: 'provider' | 'route' | 'credential';
  /** Of a provider its id, of a route its models, of a credential its name. */
  readonly name: string;
  /** Name of the setting. */
  readonly limit: string;
  /** In yuan for costs. */
  readonly used: number;
  readonly max: number;
}

/** The remaining amount of a limit of a vendor, as its last response stated it. */
export interface VendorLimitFigures {
  readonly provider: string;
  readonly credential: string;
  readonly providerModel: string;
  readonly limit: string;
  readonly remaining: number;
}

export type NodeMetric = ReadMetric<NodeFigures>;

export const ofNode = metricsOf((node: NodeFigures) => [node]);
