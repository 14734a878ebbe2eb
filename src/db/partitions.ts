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

/** A migration of one partition. Each is applied in its own transaction (docs/decisions/0063-partitions-are-schemas.md). */

interface AppliedMigration {
  /** Number of the partition. 0: the first one, which shares the directory's schema. */
  readonly partition: number;
  readonly version: number;
  readonly name: string;
}

type Opened = Pick<Databases, 'directory' | 'partitions'>;
type Openable = Pick<Databases, 'directory' | 'partitions' | 'openNext'>;

/** Maximum number of partitions. It limits the digits in schema names. */
const PARTITIONS_MAX = 100;

/**
 * Migrates the directory, then each partition in order, including those that other processes add. After a failure, the next run starts with
 * the failed migration. On Citus, also prepares two-phase commits, even if the extension was installed later.
 *
 * @throws SchemaError as `migrate` does; also, with the partition's number, if a partition is missing, belongs to another database, is
 * newer than this program, or cannot be migrated
 */
export async function migrateAll(databases: Openable, options: MigrateOptions = {}): Promise<AppliedMigration[]> {
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

/** Returns the partitions that need migrations. The directory must be current. @throws SchemaError if migrations cannot help */
export async function partitionsBehind({ directory, partitions }: Opened): Promise<number[]> {
  const behind: number[] = [];
  for (const row of (await readPartitions(directory)).slice(1)) {
    const partition = partitions[row.number];
    if (partition === undefined) throw addedMeanwhile(row.number);
    if ((await pendingOf(partition, row, readMigrations())).length > 0) behind.push(row.number);
  }
  return behind;
}

/** Checks all partitions. The directory must be current. @throws SchemaError unless all partitions exist and are current */
export async function requireCurrentPartitions(databases: Opened): Promise<void> {
  const [behind] = await partitionsBehind(databases);
  if (behind === undefined) return;
  throw new SchemaError({
    reason: `Partition ${behind} of the database has an earlier schema version;`,
    advice: 'migrate it: faregate db migrate',
  });
}

const inPartition = (partition: number, steps: readonly Migration[]): AppliedMigration[] =>
  steps.map(({ version, name }) => ({ partition, version, name }));

export async function addPartition(databases: Openable, options: MigrateOptions = {}): Promise<number> {
  for (;;) {
    const number = await openAll(databases);
    if (await make(databases, number, options)) return number;
  }
}

/**
 * Creates partitions until there are `count`, including those that other processes create. Returns the numbers of those that this process
 * created. Partitions are never removed. @throws SchemaError as `addPartition` does
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

/** Opens partitions that other processes have added. Returns the number of partitions. */
async function openAll({ directory, partitions, openNext }: Openable): Promise<number> {
  const known = await readPartitions(directory);
  for (const { schema } of known.slice(partitions.length)) openNext(schema!);
  return known.length;
}

/** Creates a partition in one transaction and opens it. Returns false if another process created it first. */
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
    // These are plain statements, because Citus cannot create tables inside a `do` block.
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
      ? 'Check what that schema contains. If it is not needed, drop it and try again.'
      : 'Fix the cause and try again.';
    throw explained(error, `${nameOf({ number, schema })} could not be created`, advice);
  });
  if (isMade && partitions[number] === undefined) openNext(schema);
  return isMade;
}

/** Adds to the error of a statement what has failed and what to do. */
const explained = (error: unknown, what: string, advice: string): unknown =>
  error instanceof StatementError
    ? new SchemaError({ reason: `${what}: ${error.reason}.`, advice }, { cause: error })
    : error;

const asManyAsCanBe = (): SchemaError =>
  new SchemaError({
    reason: `The database has ${PARTITIONS_MAX} partitions, which is the maximum.`,
    advice: 'Use a larger server or Citus to increase their capacity.',
  });

/** Error: another process has added a partition since this process opened its own. */
export const addedMeanwhile = (number: number): SchemaError =>
  new SchemaError({
    reason: `The database has a partition ${number} that was added after this program opened the others;`,
    advice: 'restart the program.',
  });

const schemaOf = (number: number): string => `faregate_${String(number).padStart(2, '0')}`;

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
      'The directory and earlier partitions are up to date. Fix the cause, then continue: faregate db migrate';
    throw explained(error, `${nameOf(row)} could not be migrated and is unchanged`, advice);
  });
}

/** Returns the missing migrations of a partition. @throws SchemaError if its schema is not as expected */
async function pendingOf(
  partition: Database,
  row: PartitionRow,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  await requireOwn(partition, row);
  const applied = await appliedVersions(partition, migrations, nameOf(row));
  if (applied.size === 0) {
    throw new SchemaError({ reason: `${nameOf(row)} is damaged: it contains no schema version.`, advice: RESTORE });
  }
  return pendingMigrations(migrations, applied);
}

const nameOf = ({ number, schema }: Pick<PartitionRow, 'number' | 'schema'>): string =>
  `Partition ${number} (schema ${schema})`;

const RESTORE = 'Restore it together with the rest of the database. It may contain account balances.';

/** Checks that the schema exists and belongs to the partition. @throws SchemaError */
async function requireOwn(partition: Database, row: PartitionRow): Promise<void> {
  const { schema, mark } = await readSchemaOf(partition);
  if (schema === null) {
    throw new SchemaError({
      reason: `${nameOf(row)} is missing: the database has no such schema, or the gateway's user has no access to it.`,
      advice: RESTORE,
    });
  }
  if (schema !== row.schema) {
    throw new SchemaError({
      reason: `${nameOf(row)} cannot be reached: its connections are in the schema ${schema}.`,
      advice: 'The proxy or pooler between gateway and server must pass on connection options, including search_path.',
    });
  }
  if (mark === row.mark) return;
  throw new SchemaError({
    reason: `${nameOf(row)} is missing: the schema with that name is ${mark === null ? 'something else' : `"${mark}"`}.`,
    advice: RESTORE,
  });
}

const stepOfPartition = (step: Migration): string => stepOf(step, linesByHome(step.sql).partition);
