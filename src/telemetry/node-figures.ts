import type { PoolTasks } from '../calls/request-workers.ts';
import type { RouteStatus } from '../providers/routing/health.ts';
import type { CredentialCounts } from '../providers/upstream/credentials.ts';
import type { EventLoopDelays } from './event-loop.ts';
import { metricsOf, type ReadMetric } from './metric.ts';

/** What a node does at one moment, read from all of its parts for one scrape. */
export interface NodeFigures {
  readonly build: { readonly version: string; readonly nodeVersion: string; readonly engine: string };
  /** With how many workers the gateway is started; 1: this process is all of it. */
  readonly workers: number;
  /** As `/readyz` says, of this node. */
  readonly isReady: boolean;
  readonly reload: { readonly isInForce: boolean; readonly lastAtMs: number };
  readonly requestsInFlight: number;
  readonly connections: { readonly open: number; readonly max: number };
  readonly refusalsDelayed: number;
  readonly callsQueued: number;
  readonly reservations: { readonly open: number; readonly waiting: number; readonly doubtful: number };
  readonly settlements: { readonly waiting: number; readonly unwritten: number };
  /** Since the start of the process. */
  readonly callsUnresolved: number;
  readonly journal: { readonly entries: number; readonly fileBytes: number; readonly isWritable: boolean };
  readonly claims: number;
  readonly cachedKeys: number;
  readonly database: {
    readonly isUp: boolean;
    readonly isSilent: boolean;
    readonly isNotified: boolean;
    readonly clockAheadMs: number;
    readonly lanes: readonly LaneFigures[];
    /** Of those that the node has opened, by number: whether the last question of a call there ran out of time. */
    readonly partitions: readonly { readonly number: number; readonly isSilent: boolean }[];
    /** How many more there are. */
    readonly partitionsUnopened: number;
  };
  readonly providers: readonly ProviderFigures[];
  readonly routes: readonly RouteFigures[];
  readonly requestWorkers: readonly PoolTasks[];
  readonly bodies: { readonly used: BodySizes; readonly max: BodySizes };
  /** Of notices: attempts since the start of the process, those under way, and receivers that are due. */
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

/** Connections to the database for one purpose. Counts are since the start of the process. */
export interface LaneFigures {
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
  readonly callsUnderWay: number;
  readonly callsMax: number;
  readonly callsWaiting: number;
  /** Since the provider was configured as it is. */
  readonly callsRefused: number;
  readonly connectionsOpen: number;
  readonly credentials: CredentialCounts;
}

export interface RouteFigures {
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  readonly state: RouteStatus['state'];
  /** Accounts that are not let through, because their own calls keep failing. */
  readonly accountsLeftOut: number;
}

export type NodeMetric = ReadMetric<NodeFigures>;

/** Rows of metrics of the node as a whole. */
export const ofNode = metricsOf((node: NodeFigures) => [node]);
