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

export class SchemaError extends AdvisedError {}

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
  readonly migrations?: readonly Migration[];
}

/**
 * Applies missing migrations to the directory and the first partition, which share a schema: in order, all or nothing. Returns them. A
 * migration with the comment `-- exclusive` waits until no node runs, because nodes of the previous version do not know its tables.
 *
 * @throws SchemaError if the database is older than the baseline or newer than this program; it is not changed
 * @throws NodesRunningError, LocksHeldError as `untilApplied` does
 */
export function migrate(database: Database, options: MigrateOptions = {}): Promise<Migration[]> {
  const { migrations = readMigrations() } = options;
  return untilApplied(database, options, () => applyPending(database, migrations));
}

const MIGRATOR_LOCK_MS = 5_000;
const TABLE_LOCK_MS = 200;

/** Returns a script for one transaction, which first waits until no other process migrates. */
export function underMigrationLock(statements: readonly string[]): string {
  return [
    'begin;',
    // This wait may be long: it delays no other process.
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

/** Returns the SQL of a migration. It first records the migration, so that it fails at once if another process has applied it. */
export const stepOf = ({ version, name }: Migration, sql: string): string =>
  [
    `insert into schema_migrations (version, name) values (${version}, '${name}');`,
    ...(sql.startsWith('-- exclusive') ? [REFUSE_WHILE_NODES_RUN] : []),
    `${sql}\n;`,
  ].join('\n');

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

/** @throws SchemaError as `appliedVersions` does. */
export async function migrationState(database: Queryable): Promise<MigrationState[]> {
  const known = readMigrations();
  const applied = await appliedVersions(database, known);
  return known.map(({ version, name }) => ({ version, name, appliedAt: applied.get(version) ?? null }));
}

/**
 * Returns applied migrations, also those before the baseline. `name`: the database or schema, for errors.
 * @throws SchemaError if a newer program has applied unknown migrations, or if the database is older than the baseline
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
      reason: `${name} is at schema version ${version}, but this program reads only version ${baseline} and later.`,
      advice: UPGRADE_FIRST,
    });
  }
  return applied;
}

function requireKnown(version: number, known: readonly Migration[], name: string): void {
  const newest = known.at(-1)!.version;
  if (version <= newest) return;
  throw new SchemaError({
    reason: `${name} is at schema version ${version}, but this program supports only ${newest}.`,
    advice: 'Use a newer version of Faregate.',
  });
}

/** Checks the schema without changing it. @throws SchemaError if this program can neither create nor update the schema */
export async function requireReadableSchema(database: Queryable): Promise<void> {
  await appliedVersions(database, readMigrations());
}

/** Checks the schema without changing it. @throws SchemaError if the schema is older, newer, or missing */
export async function requireCurrentSchema(database: Queryable): Promise<void> {
  const states = await migrationState(database);
  const needed = states.at(-1)?.version ?? 0;
  const applied = states.findLast(({ appliedAt }) => appliedAt !== null)?.version ?? 0;
  if (states.every(({ appliedAt }) => appliedAt !== null)) return;
  throw new SchemaError(
    applied === 0
      ? { reason: 'The database has no Faregate tables yet;', advice: 'create them: faregate db migrate' }
      : {
          reason: `The database is at schema version ${applied}, but this program needs ${needed};`,
          advice: 'migrate it: faregate db migrate',
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
