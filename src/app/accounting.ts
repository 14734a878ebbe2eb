import { join } from 'node:path';
import { createEndedKeyStore } from '../accounting/accounts/ended-key-store.ts';
import { createKeyStatusStore } from '../accounting/accounts/status-store.ts';
import { createAccountPartitionStore } from '../accounting/partitions/account-partition-store.ts';
import { createAddedPartitions } from '../accounting/partitions/added-partitions.ts';
import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import { createPlacement } from '../accounting/partitions/placement.ts';
import { createKnownPartitions, createRoutes } from '../accounting/partitions/routes.ts';
import { type RunningPeriods, runningPeriods } from '../accounting/pricing/running-periods.ts';
import { createSettlement } from '../accounting/settlement/settlement.ts';
import type { Config } from '../config/schema.ts';
import { isDataError } from '../db/errors.ts';
import type { PartitionedDatabases } from '../db/home-pools.ts';
import { readDatabaseIdentity } from '../db/identity.ts';
import { createDatabaseClock } from '../db/nodes/database-clock.ts';
import { createNodes } from '../db/nodes/nodes.ts';
import { createNodeStore } from '../db/nodes/nodes-store.ts';
import { probeDatabase } from '../db/nodes/probe-store.ts';
import { createQuestions } from '../db/questions/database-questions.ts';
import { namedPartition, requestPool } from '../db/request-pool.ts';
import type { Disk } from '../journal/disk.ts';
import { openJournal } from '../journal/journal.ts';
import { loggerWith } from '../lib/logger.ts';
import { createUseExchange } from '../providers/limits/use-exchange.ts';
import { createUseStore } from '../providers/limits/use-store.ts';
import { createDrainStore, DRAINS_CHANNEL } from '../providers/routing/drains/drain-store.ts';
import { createDrains } from '../providers/routing/drains/drains.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';
import type { NodeObservers } from '../telemetry/metrics.ts';
import { createPlacedAdmin } from './admin-parts.ts';
import { joinPartitions } from './joined-partitions.ts';
import { createPartitionAccounting, type PartitionAccountingDependencies } from './partition-accounting.ts';

interface AccountingDependencies
  extends Omit<PartitionAccountingDependencies, 'number' | 'databases' | 'databaseClock' | 'recoverJournals'> {
  readonly databases: PartitionedDatabases;
  readonly config: Config;
  readonly disk: Disk;
  /** Whether other processes may use the database. */
  readonly hasOtherProcesses: boolean;
  readonly observers: PartitionAccountingDependencies['observers'] & Pick<NodeObservers, 'settlement'>;
}

export type Accounting = Awaited<ReturnType<typeof createAccounting>>;

/**
 * Creates the partitions of a node (`partition-accounting.ts`) and what they have in common, such as the journal, the estimate of the
 * database's clock and the stores of the directory. Starts nothing.
 * @throws if the journal's directory cannot be used
 */
export async function createAccounting(deps: AccountingDependencies) {
  const { config, databases, settings, nodeId, clock, testDatabaseClock, logger, disk, budget, observers } = deps;
  const { directory, partitions } = databases;
  // The journal is opened first: if this fails, nothing must be stopped. Nodes of different databases can share a data directory.
  const journalDirectory = join(config.database.dataDir, 'journal', await readDatabaseIdentity(directory));
  const journal = await openJournal({ directory: journalDirectory, name: nodeId, logger, clock, disk });
  const databaseClock = createDatabaseClock(clock, logger, testDatabaseClock);
  const placed = createAccountPartitionStore(directory);
  const directoryQuestions = createQuestions({
    probe: (signal) => probeDatabase(directory, signal),
    logger,
    ...deps.timing,
  });
  const addedPartitions = createAddedPartitions(partitions.length, logger);
  const known = createKnownPartitions(placed, directoryQuestions, partitions.length);
  const place = createPlacement(partitions.length, placed, databaseClock);
  const routes = createRoutes(
    partitions.map((partition, number) =>
      createPartitionAccounting({
        ...deps,
        number: namedPartition(number, partitions.length),
        logger: partitions.length === 1 ? logger : loggerWith(logger, { partition: number }),
        databases: { directory, partition },
        databaseClock,
        recoverJournals: () => settlement.recover(number),
      }),
    ),
    known,
  );
  const joined = joinPartitions(routes);
  const settlement = createSettlement({
    database: joined.databaseSettlement,
    partitions: { count: partitions.length, find: known.find },
    journal,
    budget,
    isDataFault: isDataError,
    logger,
    onEnd: observers.settlement,
    ...deps.timing,
  });
  const byNumber = createRoutes(partitions, known);
  const adminPools: PlacedPools = {
    directory: requestPool(directory.pool('admin')),
    partitions: byNumber.map((partition, number) =>
      requestPool(partition.pool('admin'), namedPartition(number, partitions.length)),
    ),
  };
  const housekeepingPools: PlacedPools = {
    directory: directory.pool('housekeeping'),
    partitions: byNumber.map((partition) => partition.pool('housekeeping')),
  };
  return {
    ...joined,
    databaseClock,
    periods: (): RunningPeriods => runningPeriods(settings.current.localTime, databaseClock.nowMs()),
    /** Reads the time in epoch milliseconds, by the caller's connection pool. */
    databaseNowMs: async ({ subscriptions }: Pick<typeof joined.balances, 'subscriptions'>): Promise<number> =>
      testDatabaseClock?.nowMs() ?? (await subscriptions.nowMs()),
    directoryQuestions,
    /** By partition number. */
    partitionQuestions: routes.all.map(({ questions }) => questions),
    addedPartitions,
    knownPartitions: known,
    /** For calls. The management APIs have a store of their own. */
    keyStatuses: createKeyStatusStore(directory),
    adminPools,
    admin: {
      ...joined.admin,
      ...createPlacedAdmin(adminPools, () => settings.current.plans, place),
    },
    drains: createDrains({
      // On this pool, because the store runs one read at a time, which leaves connections to `/readyz`.
      store: createDrainStore(directory.pool('probes')),
      changes: createDrainStore(adminPools.directory),
      listen: (onChange) => directory.subscribe(DRAINS_CHANNEL, onChange, onChange),
      logger,
    }),
    housekeeping: {
      partitions: routes.all.map((partition) => partition.housekeeping),
      hasUnopenedPartitions: () => addedPartitions.count > 0,
      refusals: createRefusalsStore(housekeepingPools.directory),
      nodes: createNodeStore(housekeepingPools.directory),
      endedKeys: createEndedKeyStore(housekeepingPools),
    },
    limitUses: createUseExchange({
      nodeId,
      limits: () => settings.current,
      store: createUseStore(housekeepingPools.directory),
      costs: routes.all.map(({ housekeeping }) => housekeeping.routeCosts.sum),
      clock,
      databaseClock,
      hasOthers: deps.hasOtherProcesses,
      logger,
    }),
    settlement,
    journal,
    nodes: createNodes({
      store: createNodeStore(directory),
      nodeId,
      logger,
      clock,
      databaseClock,
      onPartitions: addedPartitions.note,
      sweeps: routes.all.map(({ resolveDeadCalls }) => resolveDeadCalls),
    }),
  };
}
