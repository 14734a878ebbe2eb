import { UPGRADE_FIRST } from '../lib/earliest.ts';
import type { Database, Queryable, Statement } from './database.ts';
import { AdvisedError } from './errors.ts';
import { MIGRATION_LOCK, type MigrationWaits, NODE_SILENCE_S, NODES_RUNNING, untilApplied } from './migration-waits.ts';
import { type Migration, readMigrations } from './migrations.ts';

interface MigrationState {
  readonly version: number;
  readonly name: string;
  readonly appliedAt: Date | null;
}

/** The schema of a database is not the one that this program works with; the message says what to run. */
export class SchemaError extends AdvisedError {}

/** Which steps a schema has. */
export const CREATE_RECORD = `create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
);`;

const listApplied = {
  name: 'migrate.list-applied',
  text: 'select version, name, applied_at from schema_migrations order by version',
};

export interface MigrateOptions extends MigrationWaits {
  /** By default those of this program. */
  readonly migrations?: readonly Migration[];
}

/**
 * Applies what is missing to the directory and the first partition, which is in its schema: in order, all or nothing, under a lock. Returns
 * what it applied. A step that begins with the comment `-- exclusive` waits until no node runs: those of the version before do not know the
 * tables that it makes.
 *
 * @throws SchemaError if the database is older than the baseline, or newer than this program: it is left as it is.
 * @throws NodesRunningError, LocksHeldError as `untilApplied`.
 */
export function migrate(database: Database, options: MigrateOptions = {}): Promise<Migration[]> {
  const { migrations = readMigrations() } = options;
  return untilApplied(database, options, () => applyPending(database, migrations));
}

const MIGRATOR_LOCK_MS = 5_000;
const TABLE_LOCK_MS = 200;

/** A script that is all or nothing, and that one process runs at a time, whatever the schema. */
export function underMigrationLock(statements: readonly string[]): string {
  return [
    'begin;',
    // Another node that migrates is waited for longer: nobody else is kept waiting by that.
    `set local lock_timeout = '${MIGRATOR_LOCK_MS}ms';`,
    `select pg_advisory_xact_lock(${MIGRATION_LOCK});`,
    `set local lock_timeout = '${TABLE_LOCK_MS}ms';`,
    ...statements,
    'commit;',
  ].join('\n');
}

async function applyPending(database: Database, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = await appliedVersions(database, migrations);
  const pending = pendingMigrations(migrations, applied);
  if (pending.length === 0) return [];
  await database.script(underMigrationLock([CREATE_RECORD, ...pending.map((step) => stepOf(step, step.sql))]));
  return pending;
}

/** A step in a schema, which has `sql` of it. It is recorded first, and fails at once if another process was quicker (`untilApplied`). */
export const stepOf = ({ version, name }: Migration, sql: string): string =>
  [
    `insert into schema_migrations (version, name) values (${version}, '${name}');`,
    ...(sql.startsWith('-- exclusive') ? [REFUSE_WHILE_NODES_RUN] : []),
    `${sql}\n;`,
  ].join('\n');

/** Its message names the nodes, whose table the baseline has. */
const REFUSE_WHILE_NODES_RUN = `do $refuse$ declare running text := (
  select string_agg(id || ' (started ' || to_char(started_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC)', ', ' order by id)
  from nodes where seen_at > clock_timestamp() - interval '${NODE_SILENCE_S} seconds'
);
begin
  if running is not null then raise exception using errcode = '${NODES_RUNNING}', message = running; end if;
end $refuse$;`;

export function pendingMigrations(known: readonly Migration[], applied: ReadonlyMap<number, Date>): Migration[] {
  return known.filter(({ version }) => !applied.has(version));
}

/**
 * Every known migration and when it was applied.
 *
 * @throws SchemaError as `appliedVersions`.
 */
export async function migrationState(database: Queryable): Promise<MigrationState[]> {
  const known = readMigrations();
  const applied = await appliedVersions(database, known);
  return known.map(({ version, name }) => ({ version, name, appliedAt: applied.get(version) ?? null }));
}

/**
 * What was applied, and when; steps before the baseline too, where the database was made by them.
 *
 * @param name of what has the schema, for errors.
 * @throws SchemaError if the database has steps that this program does not know, because it belongs to a newer one, or lacks the
 * baseline, because it is older than this program reads.
 */
export async function appliedVersions(
  database: Queryable,
  known: readonly Migration[],
  name = 'The database',
): Promise<Map<number, Date>> {
  const applied = new Map((await appliedRows(database)).map((row) => [row.version, row.applied_at]));
  const version = Math.max(0, ...applied.keys());
  requireKnown(version, known, name);
  const baseline = known[0]!.version;
  if (applied.size > 0 && !applied.has(baseline)) {
    throw new SchemaError({
      reason: `${name} is at schema version ${version}, and this program reads none before ${baseline}.`,
      advice: UPGRADE_FIRST,
    });
  }
  return applied;
}

function requireKnown(version: number, known: readonly Migration[], name: string): void {
  const newest = known.at(-1)!.version;
  if (version <= newest) return;
  throw new SchemaError({
    reason: `${name} is at schema version ${version}, but this program knows only ${newest}.`,
    advice: 'Use a newer Faregate.',
  });
}

/**
 * Makes sure, without changing anything, that this program can bring the schema up to date, or make it.
 *
 * @throws SchemaError as `migrate`.
 */
export async function requireReadableSchema(database: Queryable): Promise<void> {
  await appliedVersions(database, readMigrations());
}

/**
 * Makes sure, without changing anything, that the schema is the one of this program.
 *
 * @throws SchemaError if it is older, newer, or not there at all.
 */
export async function requireCurrentSchema(database: Queryable): Promise<void> {
  const states = await migrationState(database);
  const needed = states.at(-1)?.version ?? 0;
  const applied = states.findLast(({ appliedAt }) => appliedAt !== null)?.version ?? 0;
  if (states.every(({ appliedAt }) => appliedAt !== null)) return;
  throw new SchemaError(
    applied === 0
      ? { reason: 'The database has no tables of Faregate yet;', advice: 'create them: faregate db migrate' }
      : {
          reason: `The database is at schema version ${applied}, but this program needs ${needed};`,
          advice: 'bring it up to date: faregate db migrate',
        },
  );
}

interface AppliedRow {
  version: number;
  applied_at: Date;
}

async function appliedRows(database: Queryable): Promise<AppliedRow[]> {
  return (await isTableThere(database, 'schema_migrations')) ? database.query<AppliedRow>(listApplied) : [];
}

const findTable: Statement = {
  name: 'migrate.find-table',
  text: 'select to_regclass($1::text) is not null as is_there',
};

export async function isTableThere(database: Queryable, table: string): Promise<boolean> {
  const [found] = await database.query<{ is_there: boolean }>(findTable, [table]);
  return found!.is_there;
}
