import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { UPGRADE_FIRST } from '../lib/earliest.ts';
import { ForeseenError } from '../lib/foreseen-error.ts';
import type { Database, Queryable, Statement } from './database.ts';
import { isLockTimeout, StatementError, sqlState } from './errors.ts';

/** One step of the schema, from a file such as `0044_baseline.sql`. Steps only go forward. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

interface MigrationState {
  readonly version: number;
  readonly name: string;
  readonly appliedAt: Date | null;
}

/** The schema of a database is not the one that this program works with; the message says what to run. */
export class SchemaError extends ForeseenError {
  readonly reason: string;
  readonly advice: string;
  constructor({ reason, advice }: { readonly reason: string; readonly advice: string }) {
    super(`${reason} ${advice}`);
    this.name = 'SchemaError';
    this.reason = reason;
    this.advice = advice;
  }
}

const MIGRATIONS_DIR = new URL('./migrations/', import.meta.url);

/** In order. The first one is the baseline: it makes the whole schema as of its version, and the others come after it. */
export function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS_DIR)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -4),
      sql: readFileSync(new URL(file, MIGRATIONS_DIR), 'utf8'),
    }));
}

/** The version of the schema that this program works with. */
export function schemaVersion(): number {
  return readMigrations().at(-1)!.version;
}

const createTable = `create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
)`;

const listApplied = {
  name: 'migrate.list-applied',
  text: 'select version, name, applied_at from schema_migrations order by version',
};

/** Arbitrary, but the same for every node: the node that has it migrates; the others wait and then find nothing to do. */
const MIGRATION_LOCK = 7_212_202_610;

/** What may be waited for, and for how long; for tests. */
interface MigrateOptions {
  /** By default those of this program. */
  readonly migrations?: readonly Migration[];
  /** Called if something has to be waited for, and again if it is something else or half a minute later. */
  readonly onWaiting?: (message: string) => void;
  /** For nodes of an earlier version to stop. */
  readonly patienceMs?: number;
  /** For others to release locks. */
  readonly lockPatienceMs?: number;
  readonly pollMs?: number;
  /** Ends the waiting, with its reason. */
  readonly stopped?: AbortSignal | undefined;
}

/** Nodes write a heartbeat every three seconds (`db/nodes/nodes.ts`). */
const NODE_SILENCE_S = 15;
const PATIENCE_MS = 30_000;
const LOCK_PATIENCE_MS = 600_000;
const POLL_MS = 500;
const POLL_MAX_MS = 5_000;
const REMIND_MS = 30_000;

/**
 * Applies what is missing, in order, all or nothing, under a lock. Returns what it applied. A step that begins with the
 * comment `-- exclusive` waits until no node runs: those of the version before do not know the tables that it makes.
 *
 * A lock that somebody else holds is waited for a moment only, and asked for again later: whoever wants a table after us has
 * to wait for us, even to read it.
 *
 * @throws SchemaError if the database is older than the baseline, or newer than this program: it is left as it is.
 * @throws NodesRunningError if they have not stopped in time.
 * @throws LocksHeldError where others have not released their locks in time.
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<Migration[]> {
  const { onWaiting, patienceMs = PATIENCE_MS, lockPatienceMs = LOCK_PATIENCE_MS, pollMs = POLL_MS, stopped } = options;
  const migrations = options.migrations ?? readMigrations();
  let said = { message: '', atMs: 0 };
  const say = (message: string, waitedMs: number): void => {
    if (message === said.message && waitedMs - said.atMs < REMIND_MS) return;
    said = { message, atMs: waitedMs };
    onWaiting?.(message);
  };
  let pauseMs = pollMs;
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return await applyPending(database, migrations);
    } catch (error) {
      if (sqlState(error) === NODES_RUNNING) {
        const nodes = error instanceof StatementError ? error.reason : '';
        say(`The database is about to change for a new version. Waiting for ${nodes} to stop.`, waitedMs);
        if (waitedMs >= patienceMs) throw new NodesRunningError(nodes);
      } else if (isLockTimeout(error)) {
        const holders = await lockHolders(database);
        say(
          `The database is about to change for a new version. Waiting for locks that others hold: ${holders}.`,
          waitedMs,
        );
        if (waitedMs >= lockPatienceMs) throw new LocksHeldError(holders);
        pauseMs = Math.min(pauseMs * 2, Math.max(pollMs, POLL_MAX_MS));
      } else throw error;
      await sleep(pauseMs, undefined, stopped === undefined ? {} : { signal: stopped }).catch(() => undefined);
      stopped?.throwIfAborted();
    }
  }
}

/** Somebody holds locks on tables that are about to change, and has not released them. */
class LocksHeldError extends ForeseenError {
  constructor(holders: string) {
    super(
      `The database cannot be changed for this version while others hold locks on its tables: ${holders}. End their ` +
        'transactions, then start this version again.',
    );
    this.name = 'LocksHeldError';
  }
}

/** Those that hold locks on tables of the gateway, or that migrate; those whose transactions began first. */
const listLockHolders: Statement = {
  name: 'migrate.list-lock-holders',
  text: `select l.pid, max(a.application_name) as program, max(a.state) as state, max(a.xact_start) as since,
  array_to_string(array_agg(distinct coalesce(c.relname, 'migrations')), ', ') as tables
from pg_locks l
left join pg_class c on c.oid = l.relation
left join pg_stat_activity a on a.pid = l.pid
where l.granted and l.pid <> pg_backend_pid() and l.database = (select oid from pg_database where datname = current_database())
  and (c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
    or l.locktype = 'advisory' and l.classid::bigint << 32 | l.objid::bigint = ${MIGRATION_LOCK})
group by l.pid order by since nulls last, l.pid limit 5`,
};

interface HolderRow {
  pid: number;
  program: string | null;
  state: string | null;
  since: Date | null;
  tables: string;
}

async function lockHolders(database: Queryable): Promise<string> {
  const rows = await database.query<HolderRow>(listLockHolders);
  if (rows.length === 0) return 'they are gone by now';
  return rows
    .map(({ pid, program, state, since, tables }) => {
      const known = [program, state, since === null ? null : `since ${since.toISOString()}`].filter(Boolean);
      return `process ${pid} (${known.join(', ')}) on ${tables}`;
    })
    .join('; ');
}

/** Nodes of an earlier version run, and would fail on the tables of this one. */
class NodesRunningError extends ForeseenError {
  constructor(nodes: string) {
    super(
      `The database cannot be changed for this version while nodes of an earlier one run: ${nodes}. Stop them first, then ` +
        'start this version again; a rolling update has to stop all old nodes before it starts new ones.',
    );
    this.name = 'NodesRunningError';
  }
}

const MIGRATOR_LOCK_MS = 5_000;
const TABLE_LOCK_MS = 200;

async function applyPending(database: Database, migrations: readonly Migration[]): Promise<Migration[]> {
  const script = [
    'begin;',
    // Another node that migrates is waited for longer: nobody else is kept waiting by that.
    `set local lock_timeout = '${MIGRATOR_LOCK_MS}ms';`,
    `select pg_advisory_xact_lock(${MIGRATION_LOCK});`,
    `set local lock_timeout = '${TABLE_LOCK_MS}ms';`,
    `${createTable};`,
  ];
  const applied = await appliedVersions(database, migrations);
  const pending = pendingMigrations(migrations, applied);
  if (pending.length === 0) return [];
  const prepared = applied.size === 0 ? await preparedVersions(database, migrations) : [];
  for (const migration of pending) {
    script.push(prepared.includes(migration.version) ? recorded(migration) : guarded(migration));
  }
  if (prepared.length > 0) script.push(OWN_PREPARED);
  script.push('commit;');
  try {
    await database.script(script.join('\n'));
  } catch (error) {
    await database.script('rollback').catch(() => undefined);
    throw error;
  }
  return pending;
}

/**
 * The files of a new embedded database may have been prepared (`prepared/`): the steps that they are made with stand in this table, in
 * place of the record of steps. It has its identity with that record, in one transaction: until then it is a database without a schema.
 */
const PREPARED_TABLE = 'prepared_schema';

/** For the script that prepares files, behind `migrate`: takes away what each database has for itself. */
export const MAKE_PREPARED = `begin;
create table ${PREPARED_TABLE} as select version from schema_migrations;
drop table schema_migrations;
delete from database_identity;
commit;`;

const OWN_PREPARED = `drop table ${PREPARED_TABLE};
insert into database_identity (id) values (gen_random_uuid()::text);`;

const listPrepared: Statement = {
  name: 'migrate.list-prepared',
  text: `select version from ${PREPARED_TABLE} order by version`,
};

/** @throws SchemaError if the files were prepared by a newer program. */
async function preparedVersions(database: Database, known: readonly Migration[]): Promise<number[]> {
  if (database.engine !== 'embedded' || !(await isTableThere(database, PREPARED_TABLE))) return [];
  const versions = (await database.query<{ version: number }>(listPrepared)).map(({ version }) => version);
  requireKnown(versions.at(-1)!, known);
  return versions;
}

function recorded({ version, name }: Migration): string {
  return `insert into schema_migrations (version, name) values (${version}, '${name}');`;
}

/** A step that does nothing if another node applied it while this one waited for the lock. */
function guarded(migration: Migration): string {
  return `do $guard$ begin
    if not exists (select from schema_migrations where version = ${migration.version}) then
      ${migration.sql.startsWith('-- exclusive') ? REFUSE_WHILE_NODES_RUN : ''}
      execute $migration$${migration.sql}$migration$;
      insert into schema_migrations (version, name) values (${migration.version}, '${migration.name}');
    end if;
  end $guard$;`;
}

/** Class 55 is PostgreSQL's own for objects that are not in the state that a statement needs. */
const NODES_RUNNING = '55F01';

/** Its message names the nodes, whose table the baseline has. */
const REFUSE_WHILE_NODES_RUN = `if exists (select from nodes where seen_at > clock_timestamp() - interval '${NODE_SILENCE_S} seconds') then
        raise exception using errcode = '${NODES_RUNNING}', message = (
          select string_agg(id || ' (started ' || to_char(started_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC)', ', ' order by id)
          from nodes where seen_at > clock_timestamp() - interval '${NODE_SILENCE_S} seconds'
        );
      end if;`;

function pendingMigrations(known: readonly Migration[], applied: ReadonlyMap<number, Date>): Migration[] {
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
 * @throws SchemaError if the database has steps that this program does not know, because it belongs to a newer one, or lacks the
 * baseline, because it is older than this program reads.
 */
async function appliedVersions(database: Queryable, known: readonly Migration[]): Promise<Map<number, Date>> {
  const applied = new Map((await appliedRows(database)).map((row) => [row.version, row.applied_at]));
  const version = Math.max(0, ...applied.keys());
  requireKnown(version, known);
  const baseline = known[0]!.version;
  if (applied.size > 0 && !applied.has(baseline)) {
    throw new SchemaError({
      reason: `The database is at schema version ${version}, and this program reads none before ${baseline}.`,
      advice: UPGRADE_FIRST,
    });
  }
  return applied;
}

function requireKnown(version: number, known: readonly Migration[]): void {
  const newest = known.at(-1)!.version;
  if (version <= newest) return;
  throw new SchemaError({
    reason: `The database is at schema version ${version}, but this program knows only ${newest}.`,
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

async function isTableThere(database: Queryable, table: string): Promise<boolean> {
  const [found] = await database.query<{ is_there: boolean }>(findTable, [table]);
  return found!.is_there;
}
