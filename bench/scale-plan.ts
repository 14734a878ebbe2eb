import { shareOfDirectory, shareOfPartition } from '../src/db/connection-shares.ts';
import { POOL_NAMES, STATEMENT_CONNECTIONS_MAX } from '../src/db/pools.ts';

/** What was measured of a call. */
export interface CallCosts {
  /** CPU of the gateway, all threads. */
  readonly gatewayMicros: number;
  /** CPU of the PostgreSQL server, all processes. */
  readonly databaseMicros: number;
  readonly logBytes: number;
  /** Of tables and indexes: what a call leaves. */
  readonly storedBytes: number;
}

/** What is to be served, and on which machines. */
export interface ScaleOrder {
  readonly callsPerSecond: number;
  readonly accounts: number;
  /** Cores of a machine of the gateway, and of one of the database. */
  readonly gatewayCores: number;
  readonly databaseCores: number;
  /** The part of a core that is planned for: the rest is for peaks, and for the machines that are away. */
  readonly utilisation: number;
  /** At least, so that what one worker has can be spread over the others. */
  readonly partitionsAWorker: number;
  /** So many a partition is planned to take: its batches follow one another. */
  readonly callsAPartition: number;
  /** So many MB a second the disk of a worker is planned to take. */
  readonly logMbAWorker: number;
  /** How long records are kept. */
  readonly keptDays: number;
  /** Calls of an average second as a part of those of the busiest one. */
  readonly averageOfPeak: number;
}

export interface ScalePlan {
  readonly gatewayNodes: number;
  /** Processes of the gateway, one a core. */
  readonly gatewayProcesses: number;
  readonly databaseWorkers: number;
  readonly partitions: number;
  readonly accountsAPartition: number;
  readonly callsAPartition: number;
  readonly connectionsAProcess: number;
  readonly connectionsAWorker: number;
  readonly connectionsToDirectory: number;
  readonly logMbAWorker: number;
  readonly storedTbAWorker: number;
}

/** One machine more than are needed, so that one may be away. */
const SPARE = 1;

/** The most connections of a process to the directory, or to a further one of so many partitions. */
export function connectionsOf(partitions: number, isDirectory: boolean): number {
  const share = (isDirectory ? shareOfDirectory : shareOfPartition)(partitions, STATEMENT_CONNECTIONS_MAX);
  const pools = POOL_NAMES.reduce((sum, name) => sum + share.pool(name), 0);
  return share.statements + share.batches + share.locks + pools;
}

/** How many machines and connections calls take that cost so much each. The coordinator, which has the directory, is one more machine. */
export function planScale(costs: CallCosts, order: ScaleOrder): ScalePlan {
  const { callsPerSecond, utilisation } = order;
  const machines = (micros: number, cores: number): number =>
    Math.ceil((callsPerSecond * micros) / 1e6 / utilisation / cores);
  const gatewayNodes = machines(costs.gatewayMicros, order.gatewayCores) + SPARE;
  const gatewayProcesses = gatewayNodes * order.gatewayCores;
  const logMb = (callsPerSecond * costs.logBytes) / 1e6;
  const databaseWorkers = Math.max(
    machines(costs.databaseMicros, order.databaseCores),
    Math.ceil(logMb / order.logMbAWorker),
  );
  const ofAWorker = Math.max(
    order.partitionsAWorker,
    Math.ceil(callsPerSecond / order.callsAPartition / databaseWorkers),
  );
  const partitions = databaseWorkers * ofAWorker;
  const [toDirectory, toPartition] = [connectionsOf(partitions, true), connectionsOf(partitions, false)];
  const keptCalls = callsPerSecond * order.averageOfPeak * 86_400 * order.keptDays;
  return {
    gatewayNodes,
    gatewayProcesses,
    databaseWorkers,
    partitions,
    accountsAPartition: Math.ceil(order.accounts / partitions),
    callsAPartition: callsPerSecond / partitions,
    connectionsAProcess: toDirectory + (partitions - 1) * toPartition,
    connectionsAWorker: gatewayProcesses * ofAWorker * toPartition,
    connectionsToDirectory: gatewayProcesses * toDirectory,
    logMbAWorker: logMb / databaseWorkers,
    storedTbAWorker: (keptCalls * costs.storedBytes) / databaseWorkers / 1e12,
  };
}
