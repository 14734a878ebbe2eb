import type { Config } from '../../config/schema.ts';
import { DataDirInUseError, NoDatabaseError, readDataDirOwner } from '../../db/data-dir.ts';
import type { Database } from '../../db/database.ts';
import { type Databases, describeDatabase } from '../../db/databases.ts';
import { checkDemoMark, DemoMarkError, type ServedAs } from '../../db/demo-mark.ts';
import { migrationState, SchemaError } from '../../db/migrate.ts';
import { partitionsBehind } from '../../db/partitions.ts';
import { readSchemaOf } from '../../db/partitions-store.ts';
import { readServerFacts, type ServerFacts } from '../../db/server-facts.ts';
import { silentLogger } from '../../lib/logger.ts';
import { readDemoAccountId } from '../demo/demo-account.ts';
import { openOwnDatabases } from '../own-database.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';

/** The checks of `faregate doctor` of the database: reached, of a version that will do, its schema, its safety, its clock. */

const SERVER_MAJOR_MIN = 15;
const CLOCK_DIFFERENCE_MAX_MS = 2_000;
const TWO_PHASE_RECOVERY_MAX_MS = 2_000;

export async function checkDatabase(location: Config['database'], isDemo: boolean): Promise<Finding[]> {
  const name = await describeDatabase(location);
  const isLocal = location.url === '';
  const owner = isLocal ? ownerOf(location.dataDir) : null;
  if (owner?.url !== undefined) return [ok('database', `${name}; the gateway on ${owner.url} serves it`)];
  let databases: Databases;
  try {
    databases = await openOwnDatabases(location, silentLogger, () => undefined);
  } catch (error) {
    if (error instanceof NoDatabaseError) return [ok('database', `${name}; it is made at the first start`)];
    const isInUse = error instanceof DataDirInUseError;
    const detail = isInUse ? error.message : `${name}: ${errorText(error)}`;
    return [failed('database', detail, isInUse ? 'Wait for that process, or stop it.' : UNREACHED)];
  }
  try {
    const mark = { isDemo, demoAccountId: readDemoAccountId(location.dataDir) };
    return [...(await lookAt(databases, name, isLocal)), ...(await checkMark(databases.directory, mark))];
  } catch (error) {
    if (error instanceof SchemaError) return [failed('schema', error.reason, error.advice)];
    return [failed('database', `${name}: ${errorText(error)}`, UNREACHED)];
  } finally {
    await databases.close();
  }
}

const UNREACHED = 'Check DATABASE_URL, that the server runs, and the network to it.';

async function lookAt(databases: Databases, name: string, isLocal: boolean): Promise<Finding[]> {
  const { directory: database } = databases;
  // The first question also makes the connection.
  await readServerFacts(database);
  const askedMs = Date.now();
  const begunMs = performance.now();
  const facts = await readServerFacts(database);
  const tookMs = performance.now() - begunMs;
  const partitions = await checkPartitions(databases);
  const rest = [...partitions, await checkSchema(databases, partitions[0]?.state !== 'failed')];
  const reached = ok('database', `${name}, PostgreSQL ${facts.version}, responds in ${tookMs.toFixed(1)} ms`);
  if (isLocal) return [reached, ...rest];
  const ofServer = [...rest, checkSafety(facts), ...checkRecovery(facts)];
  return [checkServer(facts, reached), ...ofServer, checkClock(facts.nowMs, askedMs, tookMs)];
}

function checkServer({ major, isStandby, version }: ServerFacts, reached: Finding): Finding {
  if (major < SERVER_MAJOR_MIN) {
    return failed('database', `PostgreSQL ${version}`, `Use PostgreSQL ${SERVER_MAJOR_MIN} or later.`);
  }
  if (!isStandby) return reached;
  const detail = 'this server is a standby, which takes no writes';
  return failed('database', detail, 'Set DATABASE_URL to the primary server.');
}

/** Whether each partition can be reached; nothing if there is one alone, which is where the directory is. */
async function checkPartitions({ partitions }: Databases): Promise<Finding[]> {
  if (partitions.length === 1) return [];
  const asked = await Promise.allSettled(partitions.map((partition) => readSchemaOf(partition)));
  const silent = asked.flatMap((each, number) =>
    each.status === 'rejected' ? [`partition ${number}: ${errorText(each.reason)}`] : [],
  );
  if (silent.length === 0) return [ok('partitions', `${partitions.length}, each responds`)];
  const detail = `${silent.length} of ${partitions.length} cannot be reached: ${silent.join('; ')}`;
  const advice = 'No gateway starts without it, and those that run serve the accounts of the others alone.';
  return [failed('partitions', detail, advice)];
}

/** @param isReached whether partitions can be asked. */
async function checkSchema(databases: Databases, isReached: boolean): Promise<Finding> {
  const states = await migrationState(databases.directory);
  const missing = states.filter(({ appliedAt }) => appliedAt === null).length;
  if (missing > 0) return warning('schema', `${missing} of ${states.length} steps are not applied`, MIGRATED_AT_START);
  const behind = isReached ? await partitionsBehind(databases) : [];
  if (behind.length > 0) return warning('schema', `not up to date: partition ${behind.join(', ')}`, MIGRATED_AT_START);
  const where = databases.partitions.length > 1 && isReached ? ', in each partition too' : '';
  return ok('schema', `all ${states.length} steps are applied${where}`);
}

const MIGRATED_AT_START = 'The gateway applies what is missing at its start; or run: faregate db migrate';

/** Says nothing where the gateway would serve the database. */
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
  if (unsafeSettings.length === 0) return ok('durability', 'the server writes to its disk before it says so');
  const detail = `${unsafeSettings.join(', ')}: charges that were acknowledged can be lost in a crash`;
  return warning('durability', detail, 'Set these to on.');
}

/** Nothing without Citus. */
function checkRecovery({ twoPhaseRecoveryMs: ms }: Pick<ServerFacts, 'twoPhaseRecoveryMs'>): Finding[] {
  if (ms === null) return [];
  const isOff = ms < 0;
  const often = isOff ? 'never' : `every ${ms / 1_000} s`;
  const detail = `Citus recovers transactions that lost a worker while they were committed: ${often}`;
  if (!isOff && ms <= TWO_PHASE_RECOVERY_MAX_MS) return [ok('recovery', detail)];
  const advice = `Writes of their accounts wait for that. On the coordinator: alter system set citus.recover_2pc_interval = '2s'; select pg_reload_conf();`;
  return [warning('recovery', detail, advice)];
}

/** The clock was read at some moment between the question and its response. */
function checkClock(databaseMs: number, askedMs: number, tookMs: number): Finding {
  const aheadMs = askedMs > databaseMs ? askedMs - databaseMs : Math.min(askedMs + tookMs - databaseMs, 0);
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MAX_MS) return ok('clock', 'agrees with the clock of the database');
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const detail = `this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database`;
  const advice = 'Synchronize the clocks, such as by NTP: records and prices by the hour follow this one.';
  return warning('clock', detail, advice);
}

function ownerOf(dataDir: string): ReturnType<typeof readDataDirOwner> {
  try {
    return readDataDirOwner(dataDir);
  } catch {
    // There is no directory yet, or it cannot be read, which the check of the directory says.
    return null;
  }
}
