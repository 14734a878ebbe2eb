import { shareOfDirectory, shareOfPartition } from '../src/db/connection-shares.ts';
import { POOL_NAMES, STATEMENT_CONNECTIONS_MAX } from '../src/db/pools.ts';

/** Measured cost of a call. */
export interface CallCosts {
  /** CPU of the gateway, all threads. */
  readonly gatewayMicros: number;
  /** CPU of the PostgreSQL server, all processes. */
  readonly databaseMicros: number;
  readonly logBytes: number;
  /** Storage of a call, in tables and indexes. */
  readonly storedBytes: number;
}

/** The load to serve, and the machines. */
export interface ScaleOrder {
  readonly callsPerSecond: number;
  readonly accounts: number;
  /** Cores of a gateway machine, and of a database machine. */
  readonly gatewayCores: number;
  readonly databaseCores: number;
  /** Planned load of a core. The remainder is for peaks and failed machines. */
  readonly utilisation: number;
  /** Minimum, so that the share of a failed worker can be spread over the others. */
  readonly partitionsAWorker: number;
  /** Maximum calls per second of a partition, whose batches run one after another. */
  readonly callsAPartition: number;
  /** Maximum MB per second on a worker's disk. */
  readonly logMbAWorker: number;
  /** Retention of records. */
  readonly keptDays: number;
  /** Average calls per second as a share of the peak. */
  readonly averageOfPeak: number;
}

export interface ScalePlan {
  readonly gatewayNodes: number;
  /** Gateway processes, one per core. */
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

/** One machine more than needed, to tolerate a failure. */
const SPARE = 1;

/** Maximum connections of a process to the directory, or to each of the other partitions. */
export function connectionsOf(partitions: number, isDirectory: boolean): number {
  const share = (isDirectory ? shareOfDirectory : shareOfPartition)(partitions, STATEMENT_CONNECTIONS_MAX);
  const pools = POOL_NAMES.reduce((sum, name) => sum + share.pool(name), 0);
  return share.statements + share.batches + share.locks + pools;
}

/** Machines and connections needed for calls of this cost. The coordinator, which has the directory, is an additional machine. */
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
