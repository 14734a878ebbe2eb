import { join } from 'node:path';
import { createEndedKeyStore } from '../accounting/accounts/ended-key-store.ts';
import { createKeyStatusStore } from '../accounting/accounts/status-store.ts';
import { createAccountPartitionStore } from '../accounting/partitions/account-partition-store.ts';
import { createAddedPartitions } from '../accounting/partitions/added-partitions.ts';
import type { PlacedLanes } from '../accounting/partitions/placed-lanes.ts';
import { createPlacement } from '../accounting/partitions/placement.ts';
import { createKnownPartitions, createRoutes } from '../accounting/partitions/routes.ts';
import { type RunningPeriods, runningPeriods } from '../accounting/pricing/running-periods.ts';
import { createSettlement } from '../accounting/settlement/settlement.ts';
import type { Config } from '../config/schema.ts';
import { isDataError } from '../db/errors.ts';
import type { DirectoryDatabase, PartitionedDatabases } from '../db/home-lanes.ts';
import { readDatabaseIdentity } from '../db/identity.ts';
import { createDatabaseClock } from '../db/nodes/database-clock.ts';
import { createNodes } from '../db/nodes/nodes.ts';
import { createNodeStore } from '../db/nodes/nodes-store.ts';
import { probeDatabase } from '../db/nodes/probe-store.ts';
import { createQuestions } from '../db/questions/database-questions.ts';
import type { Disk } from '../journal/disk.ts';
import { openJournal } from '../journal/journal.ts';
import { loggerWith } from '../lib/logger.ts';
import { createDrainStore, DRAINS_CHANNEL } from '../providers/routing/drains/drain-store.ts';
import { createDrains } from '../providers/routing/drains/drains.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';
import type { NodeObservers } from '../telemetry/metrics.ts';
import { createPlacedAdmin } from './admin-stores.ts';
import { joinPartitions } from './joined-partitions.ts';
import { namedPartition, requestLane } from './lanes.ts';
import { createPartitionAccounting, type PartitionAccountingParts } from './partition-accounting.ts';

interface AccountingParts
  extends Omit<PartitionAccountingParts, 'number' | 'databases' | 'databaseClock' | 'recoverJournals'> {
  readonly databases: PartitionedDatabases;
  readonly config: Config;
  readonly disk: Disk;
  readonly observers: PartitionAccountingParts['observers'] & Pick<NodeObservers, 'settlement'>;
}

export type Accounting = Awaited<ReturnType<typeof createAccounting>>;

/**
 * Wires the accounting of a node: what is there once, because it is the node's or the directory's, and what the partition has
 * (`partition-accounting.ts`). Of the node are its journal with the settlement that writes to it, and what it knows of the database's
 * clock; of the directory are the identity of the database, heartbeats, drains, keys, and the questions that look-ups of keys
 * ask. Nothing of it runs yet.
 *
 * @throws where the journal's directory cannot be used.
 */
export async function createAccounting(parts: AccountingParts) {
  const { config, databases, settings, nodeId, clock, testDatabaseClock, logger, disk, budget, observers } = parts;
  const { directory, partitions } = databases;
  // First, because it fails where the data directory cannot be used, and nothing has to be stopped then.
  const files = await journalDirectory(config, directory);
  const journal = await openJournal({ directory: files, name: nodeId, logger, clock, disk });
  const databaseClock = createDatabaseClock(clock, logger, testDatabaseClock);
  const placed = createAccountPartitionStore(directory);
  const directoryQuestions = createQuestions({
    probe: (signal) => probeDatabase(directory, signal),
    logger,
    ...parts.timing,
  });
  const addedPartitions = createAddedPartitions(partitions.length, logger);
  const known = createKnownPartitions(placed, directoryQuestions, partitions.length);
  const place = createPlacement(partitions.length, placed, databaseClock);
  const routes = createRoutes(
    partitions.map((partition, number) =>
      createPartitionAccounting({
        ...parts,
        number: namedPartition(number, partitions.length),
        logger: partitions.length === 1 ? logger : loggerWith(logger, { partition: number }),
        databases: { directory, partition },
        databaseClock,
        recoverJournals: () => settlement.recover(number),
      }),
    ),
    known,
  );
  const ofPartition = joinPartitions(routes);
  const settlement = createSettlement({
    database: ofPartition.databaseSettlement,
    partitions: { count: partitions.length, find: known.find },
    journal,
    budget,
    isDataFault: isDataError,
    logger,
    onEnd: observers.settlement,
    ...parts.timing,
  });
  const plans = () => settings.current.plans;
  const byNumber = createRoutes(partitions, known);
  const admin: PlacedLanes = {
    directory: requestLane(directory.lane('admin')),
    partitions: byNumber.map((partition, number) =>
      requestLane(partition.lane('admin'), namedPartition(number, partitions.length)),
    ),
  };
  const housekeeping: PlacedLanes = {
    directory: directory.lane('housekeeping'),
    partitions: byNumber.map((partition) => partition.lane('housekeeping')),
  };
  return {
    ...ofPartition,
    databaseClock,
    periods: (): RunningPeriods => runningPeriods(settings.current.localTime, databaseClock.nowMs()),
    directoryQuestions,
    /** Of each partition, by their numbers. */
    partitionQuestions: routes.all.map((part) => part.questions),
    addedPartitions,
    knownPartitions: known,
    /** For the keys of calls. */
    keyStatuses: createKeyStatusStore(directory),
    adminLanes: admin,
    admin: {
      ...ofPartition.admin,
      ...createPlacedAdmin(admin, plans, place),
    },
    drains: createDrains({
      // One read at a time: it never takes the place in which `/readyz` waits.
      store: createDrainStore(directory.lane('probes')),
      changes: createDrainStore(admin.directory),
      listen: (onChange) => directory.subscribe(DRAINS_CHANNEL, onChange, onChange),
      logger,
    }),
    housekeeping: {
      partitions: routes.all.map((part) => part.housekeeping),
      isOutgrown: () => addedPartitions.count > 0,
      refusals: createRefusalsStore(housekeeping.directory),
      nodes: createNodeStore(housekeeping.directory),
      endedKeys: createEndedKeyStore(housekeeping),
    },
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

/** A directory of this database alone: nodes of different databases may share a data directory. */
async function journalDirectory({ database: { dataDir } }: Config, directory: DirectoryDatabase): Promise<string> {
  return join(dataDir, 'journal', await readDatabaseIdentity(directory));
}
