import {
  ALLOW_TRIGGERS,
  CREATE_TWO_PHASE,
  distribute,
  functionsOf,
  hasCitus,
  hasTwoPhase,
  isDistributed,
} from './citus.ts';
import type { Database } from './database.ts';
import type { Databases } from './databases.ts';
import { StatementError } from './errors.ts';
import {
  appliedVersions,
  CREATE_RECORD,
  type MigrateOptions,
  migrate,
  pendingMigrations,
  SchemaError,
  stepOf,
  underMigrationLock,
} from './migrate.ts';
import { untilApplied } from './migration-waits.ts';
import { linesByHome, type Migration, readMigrations } from './migrations.ts';
import {
  beginPartition,
  completePartition,
  type PartitionRow,
  readPartitions,
  readSchemaOf,
} from './partitions-store.ts';

/**
 * The schemas of partitions: made, and brought to the version of the program, each by a transaction of its own
 * (docs/decisions/0063-partitions-are-schemas.md).
 */

/** A step that was applied. */
interface AppliedStep {
  /** Whose schema has it: that of the first partition is the directory's. */
  readonly partition: number;
  readonly version: number;
  readonly name: string;
}

type Opened = Pick<Databases, 'directory' | 'partitions'>;
type Openable = Pick<Databases, 'directory' | 'partitions' | 'openNext'>;

/** As many as the names of schemas have digits for. */
const PARTITIONS_MAX = 100;

/**
 * Brings the directory to the version of this program as `migrate` does, then each partition, in order; a partition that was being made is
 * completed, and one that another process has added meanwhile is opened. What is done stays done if a later one fails, and the next time goes on there.
 * On Citus the directory gets what transactions over it and a partition need, also where the extension came later.
 *
 * @throws SchemaError as `migrate`; and, with its number, if a partition is not there, is of another database, newer than this
 * program, or cannot be brought up to date.
 */
export async function migrateAll(databases: Openable, options: MigrateOptions = {}): Promise<AppliedStep[]> {
  const { directory, partitions, openNext } = databases;
  const applied = inPartition(0, await migrate(directory, options));
  await untilApplied(directory, options, () => makeTwoPhase(directory));
  for (const row of (await readPartitions(directory)).slice(1)) {
    const partition = partitions[row.number] ?? openNext(row.schema!);
    applied.push(...inPartition(row.number, await bringUp(directory, partition, row, options)));
  }
  return applied;
}

async function makeTwoPhase(directory: Database): Promise<void> {
  if (!(await hasCitus(directory)) || (await hasTwoPhase(directory))) return;
  await directory.script(underMigrationLock([CREATE_TWO_PHASE]));
}

/**
 * Partitions that `migrateAll` would change, by number: they are behind, or were being made. Changes nothing. The directory must be of this
 * version.
 *
 * @throws SchemaError as `migrateAll`, for what it would not mend.
 */
export async function partitionsBehind({ directory, partitions }: Opened): Promise<number[]> {
  const behind: number[] = [];
  for (const row of (await readPartitions(directory)).slice(1)) {
    const partition = partitions[row.number];
    if (partition === undefined) throw addedMeanwhile(row.number);
    const { isThere, pending } = await stateOf(partition, row, readMigrations());
    if (!isThere || pending.length > 0 || row.state === 'making') behind.push(row.number);
  }
  return behind;
}

/**
 * The directory must be of this version.
 *
 * @throws SchemaError unless all partitions are there, and of this version, too.
 */
export async function requireCurrentPartitions(databases: Opened): Promise<void> {
  const [behind] = await partitionsBehind(databases);
  if (behind === undefined) return;
  throw new SchemaError({
    reason: `Partition ${behind} of the database is of an earlier version, or was not made to its end;`,
    advice: 'bring it up to date: faregate db migrate',
  });
}

const inPartition = (partition: number, steps: readonly Migration[]): AppliedStep[] =>
  steps.map(({ version, name }) => ({ partition, version, name }));

/**
 * Makes one more partition, without accounts, or completes one that was being made. Other processes may do so at the same time. The
 * directory must be of this version.
 *
 * @returns its number
 * @throws SchemaError if it cannot be made; the next time goes on with it.
 */
export async function addPartition(databases: Openable, options: MigrateOptions = {}): Promise<number> {
  for (;;) {
    const added = await makeNext(databases, Number.POSITIVE_INFINITY, options);
    if (typeof added === 'number') return added;
  }
}

/**
 * Makes partitions until there are so many, and completes those that were being made. Those that other processes make meanwhile are opened
 * and count. None is ever removed.
 *
 * @returns the numbers of those that this process has made or completed
 * @throws SchemaError as `addPartition`.
 */
export async function makePartitions(
  databases: Openable,
  count: number,
  options: MigrateOptions = {},
): Promise<number[]> {
  const made: number[] = [];
  for (;;) {
    const next = await makeNext(databases, count, options);
    if (next === 'enough') return made;
    if (next !== 'taken') made.push(next);
  }
}

/** Makes the next partition, unless there are so many; `taken`: another process was quicker. */
async function makeNext(
  databases: Openable,
  count: number,
  options: MigrateOptions,
): Promise<number | 'enough' | 'taken'> {
  const { directory, partitions, openNext } = databases;
  const known = await readPartitions(directory);
  // What others have added since this process has opened the rest.
  for (const { schema } of known.slice(partitions.length)) openNext(schema!);
  let row = known.find(({ state }) => state === 'making') ?? null;
  if (row === null) {
    if (known.length >= count) return 'enough';
    if (known.length >= PARTITIONS_MAX) throw asManyAsCanBe();
    row = await beginPartition(directory, known.length, schemaOf(known.length));
    if (row === null) return 'taken';
  }
  await bringUp(directory, partitions[row.number] ?? openNext(row.schema!), row, options);
  return row.number;
}

const asManyAsCanBe = (): SchemaError =>
  new SchemaError({
    reason: `The database has ${PARTITIONS_MAX} partitions, which is the most that there can be.`,
    advice: 'A larger server, or Citus, lets them take more.',
  });

const addedMeanwhile = (number: number): SchemaError =>
  new SchemaError({
    reason: `The database has a partition ${number} that was added when this program had opened the others;`,
    advice: 'start it again.',
  });

/**
 * Makes sure that all partitions are open.
 *
 * @throws SchemaError if one was added since.
 */
export async function requireAllOpen({ directory, partitions }: Opened): Promise<void> {
  if ((await readPartitions(directory)).length > partitions.length) throw addedMeanwhile(partitions.length);
}

const schemaOf = (number: number): string => `faregate_${String(number).padStart(2, '0')}`;

/** Returns what it applied; all steps if it has made the partition. */
async function bringUp(
  directory: Database,
  partition: Database,
  row: PartitionRow,
  options: MigrateOptions,
): Promise<readonly Migration[]> {
  const { migrations = readMigrations() } = options;
  const isOnCitus = await hasCitus(directory);
  const attempt = (): Promise<readonly Migration[]> => applyTo(partition, row, migrations, isOnCitus);
  const applied = await untilApplied(partition, options, attempt).catch((error: unknown) => {
    throw withPartition(row, error);
  });
  if (row.state !== 'making') return applied;
  if (isOnCitus && !(await isDistributed(directory, row.schema!))) throw notDistributed(row);
  await completePartition(directory, row.number);
  return applied;
}

async function applyTo(
  partition: Database,
  row: PartitionRow,
  migrations: readonly Migration[],
  isOnCitus: boolean,
): Promise<readonly Migration[]> {
  const { isThere, pending } = await stateOf(partition, row, migrations);
  if (pending.length === 0) return [];
  const statements = isThere ? pending.map(stepOfPartition) : makingOf(row, migrations);
  const schema = row.schema!;
  if (isOnCitus && !isThere) statements.push(distribute(schema));
  if (isOnCitus && (!isThere || (await isDistributed(partition, schema)))) {
    statements.unshift(ALLOW_TRIGGERS);
    statements.push(functionsOf(schema));
  }
  await partition.script(underMigrationLock(statements));
  return pending;
}

/** Whether the schema of a partition is there, and the steps that it lacks. @throws SchemaError if it is not as it must be. */
async function stateOf(
  partition: Database,
  row: PartitionRow,
  migrations: readonly Migration[],
): Promise<{ readonly isThere: boolean; readonly pending: readonly Migration[] }> {
  if (!(await requireOwn(partition, row))) return { isThere: false, pending: migrations };
  const applied = await appliedVersions(partition, migrations, nameOf(row));
  if (applied.size === 0) {
    throw new SchemaError({ reason: `${nameOf(row)} is damaged: it does not say its version.`, advice: RESTORE });
  }
  return { isThere: true, pending: pendingMigrations(migrations, applied) };
}

const nameOf = ({ number, schema }: PartitionRow): string => `Partition ${number} (schema ${schema})`;

/** Somebody has made its tables by hand, or the extension came while it was being made. */
const notDistributed = (row: PartitionRow): SchemaError =>
  new SchemaError({
    reason: `${nameOf(row)} is on the coordinator: Citus does not know the schema as a distributed one.`,
    advice: `No account is in it yet: drop schema ${row.schema} cascade, then go on: faregate db migrate`,
  });

const RESTORE = 'Restore it together with the rest of the database. Accounts may have their money there.';

/**
 * Whether the schema of a partition is there.
 *
 * @throws SchemaError if it is not, and the partition was made before; or if it is not that of the partition.
 */
async function requireOwn(partition: Database, row: PartitionRow): Promise<boolean> {
  const { schema, mark } = await readSchemaOf(partition);
  if (schema === null) {
    if (row.state === 'making') return false;
    throw new SchemaError({
      reason: `${nameOf(row)} is missing: the database has no such schema, or its user may not use it.`,
      advice: RESTORE,
    });
  }
  if (schema !== row.schema) {
    throw new SchemaError({
      reason: `${nameOf(row)} cannot be reached: its connections are in the schema ${schema}.`,
      advice:
        'What stands between the gateway and the server must hand on the options of a connection, search_path among them.',
    });
  }
  if (mark === row.mark) return true;
  throw new SchemaError({
    reason: `${nameOf(row)} is not there: the schema of that name is ${mark === null ? 'something else' : `"${mark}"`}.`,
    advice: 'Look at what it has. If nothing of it is needed, drop it, and start again.',
  });
}

/** Plain statements, because a schema may be one whose tables are spread over servers, which make none from within a block. */
function makingOf({ schema, mark }: PartitionRow, migrations: readonly Migration[]): string[] {
  return [
    `create schema ${schema};`,
    `comment on schema ${schema} is '${mark}';`,
    CREATE_RECORD,
    ...migrations.map(stepOfPartition),
  ];
}

const stepOfPartition = (step: Migration): string => stepOf(step, linesByHome(step.sql).partition);

function withPartition(row: PartitionRow, error: unknown): unknown {
  if (!(error instanceof StatementError)) return error;
  const reason = `${nameOf(row)} could not be brought up to date, and is as it was: ${error.reason}.`;
  const advice =
    'The directory and the partitions before it are up to date. Mend that, then go on: faregate db migrate';
  return new SchemaError({ reason, advice }, { cause: error });
}
