import type { Config } from '../../config/schema.ts';
import { DataDirInUseError, NoDatabaseError, readDataDirOwner } from '../../db/data-dir.ts';
import type { Database } from '../../db/database.ts';
import { type Databases, describeDatabase } from '../../db/databases.ts';
import { checkDemoMark, DemoMarkError, type ServedAs } from '../../db/demo-mark.ts';
import type { DirectoryDatabase } from '../../db/home-pools.ts';
import { migrationState, SchemaError } from '../../db/migrate.ts';
import { partitionsBehind } from '../../db/partitions.ts';
import { readSchemaOf } from '../../db/partitions-store.ts';
import { readServerFacts, type ServerFacts } from '../../db/server-facts.ts';
import { silentLogger } from '../../lib/logger.ts';
import { readDemoAccountId } from '../demo/demo-account.ts';
import { openOwnDatabases } from '../own-database.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';

const SERVER_MAJOR_MIN = 15;
const CLOCK_DIFFERENCE_MAX_MS = 2_000;
const TWO_PHASE_RECOVERY_MAX_MS = 2_000;

/** @param checkRows checks rows, if the database can be used */
export async function checkDatabase(
  location: Config['database'],
  isDemo: boolean,
  checkRows: (directory: DirectoryDatabase) => Promise<Finding[]>,
): Promise<Finding[]> {
  const name = await describeDatabase(location);
  const isLocal = location.url === '';
  const owner = isLocal ? ownerOf(location.dataDir) : null;
  if (owner?.url !== undefined) return [ok('database', `${name}; the gateway on ${owner.url} serves it`)];
  let databases: Databases;
  try {
    databases = await openOwnDatabases(location, silentLogger, () => undefined);
  } catch (error) {
    if (error instanceof NoDatabaseError) return [ok('database', `${name}; it is created at the first start`)];
    const isInUse = error instanceof DataDirInUseError;
    const detail = isInUse ? error.message : `${name}: ${errorText(error)}`;
    return [failed('database', detail, isInUse ? 'Wait for that process, or stop it.' : UNREACHED)];
  }
  try {
    const mark = { isDemo, demoAccountId: readDemoAccountId(location.dataDir) };
    const { directory } = databases;
    return [
      ...(await checkOpened(databases, name, isLocal)),
      ...(await checkMark(directory, mark)),
      ...(await checkRows(directory)),
    ];
  } catch (error) {
    if (error instanceof SchemaError) return [failed('schema', error.reason, error.advice)];
    return [failed('database', `${name}: ${errorText(error)}`, UNREACHED)];
  } finally {
    await databases.close();
  }
}

const UNREACHED = 'Check DATABASE_URL, that the server runs, and the network to it.';

async function checkOpened(databases: Databases, name: string, isLocal: boolean): Promise<Finding[]> {
  const { directory: database } = databases;
  // This query is not timed, because it also opens the connection.
  await readServerFacts(database);
  const askedMs = Date.now();
  const begunMs = performance.now();
  const facts = await readServerFacts(database);
  const tookMs = performance.now() - begunMs;
  const partitions = await checkPartitions(databases);
  const ofSchema = [...partitions, await checkSchema(databases, partitions[0]?.state !== 'failed')];
  const reached = ok('database', `${name}, PostgreSQL ${facts.version}, responds in ${tookMs.toFixed(1)} ms`);
  if (isLocal) return [reached, ...ofSchema];
  return [
    checkServer(facts, reached),
    ...ofSchema,
    checkSafety(facts),
    ...checkRecovery(facts),
    checkClock(facts.nowMs, askedMs, tookMs),
  ];
}

function checkServer({ major, isStandby, version }: ServerFacts, reached: Finding): Finding {
  if (major < SERVER_MAJOR_MIN) {
    return failed('database', `PostgreSQL ${version}`, `Use PostgreSQL ${SERVER_MAJOR_MIN} or later.`);
  }
  if (!isStandby) return reached;
  const detail = 'this server is a standby, which accepts no writes';
  return failed('database', detail, 'Set DATABASE_URL to the primary server.');
}

/** Checks partitions. A single one needs no check, because it is in the schema of the directory. */
async function checkPartitions({ partitions }: Databases): Promise<Finding[]> {
  if (partitions.length === 1) return [];
  const asked = await Promise.allSettled(partitions.map((partition) => readSchemaOf(partition)));
  const unreached = asked.flatMap((each, number) =>
    each.status === 'rejected' ? [`partition ${number}: ${errorText(each.reason)}`] : [],
  );
  if (unreached.length === 0) return [ok('partitions', `${partitions.length}, each responds`)];
  const detail = `${unreached.length} of ${partitions.length} cannot be reached: ${unreached.join('; ')}`;
  const advice =
    'Until every partition can be reached, no gateway starts, and running gateways serve only the accounts of the other partitions.';
  return [failed('partitions', detail, advice)];
}

async function checkSchema(databases: Databases, areAllReached: boolean): Promise<Finding> {
  const states = await migrationState(databases.directory);
  const missing = states.filter(({ appliedAt }) => appliedAt === null).length;
  if (missing > 0)
    return warning('schema', `${missing} of ${states.length} migrations are not applied`, MIGRATED_AT_START);
  const outdated = areAllReached ? await partitionsBehind(databases) : [];
  if (outdated.length > 0)
    return warning('schema', `not up to date: partition ${outdated.join(', ')}`, MIGRATED_AT_START);
  const where = databases.partitions.length > 1 && areAllReached ? ', in each partition too' : '';
  return ok('schema', `all ${states.length} migrations are applied${where}`);
}

const MIGRATED_AT_START = 'The gateway applies them when it starts; or run: faregate db migrate';

/** Checks whether the gateway would refuse the database, because the demo or another configuration uses it. */
async function checkMark(database: Database, served: ServedAs): Promise<Finding[]> {
  try {
    await checkDemoMark(database, served);
    return [];
  } catch (error) {
    if (!(error instanceof DemoMarkError)) throw error;
    return [failed('demo', error.reason, error.advice)];
  }
}

function checkSafety({ unsafeSettings }: ServerFacts): Finding {
  if (unsafeSettings.length === 0)
    return ok('durability', 'the server acknowledges a commit after it has written it to disk');
  const detail = `${unsafeSettings.join(', ')}: charges that were acknowledged can be lost in a crash`;
  return warning('durability', detail, 'Set these to on.');
}

/** Checks Citus. Returns nothing if the server does not have it. */
function checkRecovery({ twoPhaseRecoveryMs: ms }: Pick<ServerFacts, 'twoPhaseRecoveryMs'>): Finding[] {
  if (ms === null) return [];
  const isOff = ms < 0;
  const often = isOff ? 'never' : `every ${ms / 1_000} s`;
  const detail = `Citus recovers commits that a worker failure interrupted: ${often}`;
  if (!isOff && ms <= TWO_PHASE_RECOVERY_MAX_MS) return [ok('recovery', detail)];
  const advice = `Writes of the affected accounts wait for the recovery. On the coordinator: alter system set citus.recover_2pc_interval = '2s'; select pg_reload_conf();`;
  return [warning('recovery', detail, advice)];
}

/** Compares clocks. The database read its own between `askedMs` and `askedMs + tookMs`. */
function checkClock(databaseMs: number, askedMs: number, tookMs: number): Finding {
  const aheadMs = askedMs > databaseMs ? askedMs - databaseMs : Math.min(askedMs + tookMs - databaseMs, 0);
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MAX_MS) return ok('clock', 'agrees with the clock of the database');
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const detail = `this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database`;
  const advice =
    'Synchronize the clocks, for example with NTP: records and hourly prices use the clock of this machine.';
  return warning('clock', detail, advice);
}

function ownerOf(dataDir: string): ReturnType<typeof readDataDirOwner> {
  try {
    return readDataDirOwner(dataDir);
  } catch {
    // The directory does not exist or cannot be read; `checkDataDirectory` reports this.
    return null;
  }
}
