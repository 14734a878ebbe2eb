import type { Query, Queryable, Statement } from './database.ts';
import type { JsonRows } from './json-rows.ts';

/**
 * Partitions on servers with Citus (docs/decisions/0064-partitions-on-citus.md): the coordinator has the directory and the first partition as
 * plain tables, each further partition is a distributed schema, whole on one worker. Its statements go through the coordinator.
 */

const findExtension: Statement = {
  name: 'citus.find-extension',
  text: `select exists (select from pg_extension where extname = 'citus') as is_there`,
};

/** Whether a database has the extension. */
export async function hasCitus(directory: Queryable): Promise<boolean> {
  const [found] = await directory.query<{ is_there: boolean }>(findExtension);
  return found!.is_there;
}

const findDistributed: Statement = {
  name: 'citus.find-distributed',
  text: `select exists (select from pg_catalog.pg_dist_schema where schemaid = to_regnamespace($1::text)) as is_there`,
};

/** Whether a schema is one that Citus has moved to a worker. There must be the extension. */
export async function isDistributed(database: Queryable, schema: string): Promise<boolean> {
  const [found] = await database.query<{ is_there: boolean }>(findDistributed, [schema]);
  return found!.is_there;
}

/**
 * How long a transaction waits for a lock. The worker does not know what our connection to the coordinator has, so it is told in the
 * transaction, by a statement that has a row there. (`set local` is handed on only if it is a message of its own.)
 */
export const limitLocksOnWorker = (lockMaxMs: number): Query => ({
  statement: {
    name: 'citus.limit-locks',
    text: `select set_config('lock_timeout', $1::text, true) from usage_backfill`,
  },
  parameters: [`${lockMaxMs}ms`],
});

/**
 * Makes the commit of a transaction one of two phases: a transaction that writes plain tables of the coordinator and those of a worker commits
 * to one after the other otherwise, and a crash in between leaves one of them without the other. The statement is about a table that Citus
 * knows, on the coordinator, and changes nothing.
 */
export const COMMIT_IN_TWO_PHASES = 'delete from citus_two_phase where id = 0';

const findTwoPhase: Statement = {
  name: 'citus.find-two-phase',
  text: `select exists (select from pg_catalog.pg_dist_partition where logicalrelid = to_regclass('citus_two_phase')) as is_there`,
};

/** Whether the schema of the directory has what a commit of two phases needs. There must be the extension. */
export async function hasTwoPhase(directory: Queryable): Promise<boolean> {
  const [found] = await directory.query<{ is_there: boolean }>(findTwoPhase);
  return found!.is_there;
}

/** Makes it. */
export const CREATE_TWO_PHASE = `create table if not exists citus_two_phase (id integer primary key);
select citus_add_local_table_to_metadata('citus_two_phase')
where not exists (select from pg_dist_partition where logicalrelid = 'citus_two_phase'::regclass);`;

/**
 * An insert of rows that come as a parameter. Citus would read them on the coordinator and copy them to the worker, in three messages. With a
 * condition that only the worker can look up, the statement goes there as it is. The table has one row.
 *
 * @param text with a condition behind the rows, or none
 * @param rows of the text, if they come as JSON
 * @param table what the text calls them
 */
export function insertOfRows(
  name: string,
  text: (condition: string) => string,
  rows: Pick<JsonRows<never>, 'onCitus'> | null = null,
  table = '',
): Statement {
  const onCitus = text('where exists (select from usage_backfill)');
  return { name, text: text(''), onCitus: rows?.onCitus(onCitus, table) ?? onCitus };
}

/** Triggers of a distributed schema change tables of the same one, which are on the same worker. */
export const ALLOW_TRIGGERS = 'set local citus.enable_unsafe_triggers to on;';

/**
 * Moves the tables of a schema to a worker, with all that they have. In the transaction that made them. Rows of a table without a primary
 * key could not be deleted while the schema moves to another worker.
 */
export const distribute = (schema: string): string => `do $identities$
declare
  name regclass;
begin
  for name in select c.oid::regclass from pg_class c where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r'
    and not exists (select from pg_constraint p where p.conrelid = c.oid and p.contype = 'p')
  loop
    execute format('alter table %s replica identity full', name);
  end loop;
end
$identities$;
select citus_schema_distribute('${schema}');`;

/**
 * What functions of a distributed schema have in addition, after it was made and after each step. On the worker they run in a session of
 * the coordinator, whose search_path is another one. And one that a statement calls may read no table that Citus knows: it reads what the worker has.
 */
export const functionsOf = (
  schema: string,
): string => `create or replace function ${schema}.is_of_dropped_month(at timestamptz)
returns boolean language plpgsql stable as $body$
declare
  found boolean;
begin
  execute format('select exists (select from %s d where d.month = $1)',
    (select shard_name(logicalrelid, shardid) from pg_dist_shard where logicalrelid = '${schema}.dropped_months'::regclass))
  into found using date_trunc('month', at at time zone 'UTC')::date;
  return found;
end
$body$;
do $trigger_functions$
declare
  name regprocedure;
begin
  for name in select oid::regprocedure from pg_proc where pronamespace = '${schema}'::regnamespace and prorettype = 'trigger'::regtype loop
    execute format('alter function %s set search_path to ${schema}', name);
  end loop;
end
$trigger_functions$;`;
