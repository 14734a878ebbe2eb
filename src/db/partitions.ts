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
import { isDuplicateSchema, StatementError } from './errors.ts';
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
import { type PartitionRow, readPartitions, readSchemaOf, registration } from './partitions-store.ts';

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
 * Brings the directory to the version of this program as `migrate` does, then each partition, in order; one that another process has added
 * meanwhile is opened. What is done stays done if a later one fails, and the next time goes on there.
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
    applied.push(...inPartition(row.number, await bringUp(partition, row, options)));
  }
  return applied;
}

async function makeTwoPhase(directory: Database): Promise<void> {
  if (!(await hasCitus(directory)) || (await hasTwoPhase(directory))) return;
  await directory.script(underMigrationLock([CREATE_TWO_PHASE]));
}

/**
 * Partitions of an earlier version, by number. Changes nothing. The directory must be of this version.
 *
 * @throws SchemaError as `migrateAll`, for what it would not mend.
 */
export async function partitionsBehind({ directory, partitions }: Opened): Promise<number[]> {
  const behind: number[] = [];
  for (const row of (await readPartitions(directory)).slice(1)) {
    const partition = partitions[row.number];
    if (partition === undefined) throw addedMeanwhile(row.number);
    if ((await pendingOf(partition, row, readMigrations())).length > 0) behind.push(row.number);
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
    reason: `Partition ${behind} of the database is of an earlier version;`,
    advice: 'bring it up to date: faregate db migrate',
  });
}

const inPartition = (partition: number, steps: readonly Migration[]): AppliedStep[] =>
  steps.map(({ version, name }) => ({ partition, version, name }));

/**
 * Makes one more partition, without accounts. Other processes may do so at the same time. The directory must be of this version.
 *
 * @returns its number
 * @throws SchemaError if it cannot be made.
 */
export async function addPartition(databases: Openable, options: MigrateOptions = {}): Promise<number> {
  for (;;) {
    const number = await openAll(databases);
    if (await make(databases, number, options)) return number;
  }
}

/**
 * Makes partitions until there are so many. Those that other processes make meanwhile are opened and count. None is ever removed.
 *
 * @returns the numbers of those that this process has made
 * @throws SchemaError as `addPartition`.
 */
export async function makePartitions(
  databases: Openable,
  count: number,
  options: MigrateOptions = {},
): Promise<number[]> {
  const made: number[] = [];
  for (;;) {
    const number = await openAll(databases);
    if (number >= count) return made;
    if (await make(databases, number, options)) made.push(number);
  }
}

/** Opens partitions that others have added since this process has opened the rest; returns how many there are. */
async function openAll({ directory, partitions, openNext }: Openable): Promise<number> {
  const known = await readPartitions(directory);
  for (const { schema } of known.slice(partitions.length)) openNext(schema!);
  return known.length;
}

/** Makes a partition in one transaction, and opens it. Returns false if another process was quicker. */
async function make(
  { directory, partitions, openNext }: Openable,
  number: number,
  options: MigrateOptions,
): Promise<boolean> {
  if (number >= PARTITIONS_MAX) throw asManyAsCanBe();
  const { migrations = readMigrations() } = options;
  const schema = schemaOf(number);
  const isOnCitus = await hasCitus(directory);
  const script = underMigrationLock([
    // Plain statements, because Citus makes no tables from within a block.
    `create schema ${schema};\nset local search_path to ${schema};`,
    CREATE_RECORD,
    ...migrations.map(stepOfPartition),
    ...(isOnCitus ? [ALLOW_TRIGGERS, distribute(schema), functionsOf(schema)] : []),
    'set local search_path to default;',
    registration(number, schema),
  ]);
  const attempt = async (): Promise<boolean> => {
    if ((await readPartitions(directory)).length > number) return false;
    await directory.script(script);
    return true;
  };
  const isMade = await untilApplied(directory, options, attempt).catch((error: unknown) => {
    const advice = isDuplicateSchema(error)
      ? 'Look at what that schema has. If nothing of it is needed, drop it, and start again.'
      : 'Mend that, then start again.';
    throw explained(error, `${nameOf({ number, schema })} could not be made`, advice);
  });
  if (isMade && partitions[number] === undefined) openNext(schema);
  return isMade;
}

/** A statement that failed, with what it was for. */
const explained = (error: unknown, what: string, advice: string): unknown =>
  error instanceof StatementError
    ? new SchemaError({ reason: `${what}: ${error.reason}.`, advice }, { cause: error })
    : error;

const asManyAsCanBe = (): SchemaError =>
  new SchemaError({
    reason: `The database has ${PARTITIONS_MAX} partitions, which is the most that there can be.`,
    advice: 'A larger server, or Citus, lets them take more.',
  });

/** This process has not opened a partition, because it was added since it has opened the others. */
export const addedMeanwhile = (number: number): SchemaError =>
  new SchemaError({
    reason: `The database has a partition ${number} that was added when this program had opened the others;`,
    advice: 'start it again.',
  });

const schemaOf = (number: number): string => `faregate_${String(number).padStart(2, '0')}`;

/** Returns what it applied. */
async function bringUp(
  partition: Database,
  row: PartitionRow,
  { migrations = readMigrations(), ...waits }: MigrateOptions,
): Promise<readonly Migration[]> {
  const attempt = async (): Promise<readonly Migration[]> => {
    const pending = await pendingOf(partition, row, migrations);
    if (pending.length === 0) return [];
    const statements = pending.map(stepOfPartition);
    if ((await hasCitus(partition)) && (await isDistributed(partition, row.schema!))) {
      statements.unshift(ALLOW_TRIGGERS);
      statements.push(functionsOf(row.schema!));
    }
    await partition.script(underMigrationLock(statements));
    return pending;
  };
  return untilApplied(partition, waits, attempt).catch((error: unknown) => {
    const advice =
      'The directory and the partitions before it are up to date. Mend that, then go on: faregate db migrate';
    throw explained(error, `${nameOf(row)} could not be brought up to date, and is as it was`, advice);
  });
}

/** The steps that a partition lacks. @throws SchemaError if its schema is not as it must be. */
async function pendingOf(
  partition: Database,
  row: PartitionRow,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  await requireOwn(partition, row);
  const applied = await appliedVersions(partition, migrations, nameOf(row));
  if (applied.size === 0) {
    throw new SchemaError({ reason: `${nameOf(row)} is damaged: it does not say its version.`, advice: RESTORE });
  }
  return pendingMigrations(migrations, applied);
}

const nameOf = ({ number, schema }: Pick<PartitionRow, 'number' | 'schema'>): string =>
  `Partition ${number} (schema ${schema})`;

const RESTORE = 'Restore it together with the rest of the database. Accounts may have their money there.';

/** @throws SchemaError unless the schema of a partition is there, and is its own. */
async function requireOwn(partition: Database, row: PartitionRow): Promise<void> {
  const { schema, mark } = await readSchemaOf(partition);
  if (schema === null) {
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
  if (mark === row.mark) return;
  throw new SchemaError({
    reason: `${nameOf(row)} is not there: the schema of that name is ${mark === null ? 'something else' : `"${mark}"`}.`,
    advice: RESTORE,
  });
}

const stepOfPartition = (step: Migration): string => stepOf(step, linesByHome(step.sql).partition);
