import type { Query, Queryable, Statement } from './database.ts';
import type { JsonRows } from './json-rows.ts';

/**
 * This file places partitions on servers with Citus (docs/decisions/0064-partitions-on-citus.md). The directory and the first partition are
 * plain tables of the coordinator. Each further partition is a distributed schema on one worker.
 */

const findExtension: Statement = {
  name: 'citus.find-extension',
  text: `select exists (select from pg_extension where extname = 'citus') as is_there`,
};

export async function hasCitus(directory: Queryable): Promise<boolean> {
  const [found] = await directory.query<{ is_there: boolean }>(findExtension);
  return found!.is_there;
}

const findDistributed: Statement = {
  name: 'citus.find-distributed',
  text: `select exists (select from pg_catalog.pg_dist_schema where schemaid = to_regnamespace($1::text)) as is_there`,
};

/** Whether Citus has distributed a schema, so that it is on a worker. The extension must be installed. */
export async function isDistributed(database: Queryable, schema: string): Promise<boolean> {
  const [found] = await database.query<{ is_there: boolean }>(findDistributed, [schema]);
  return found!.is_there;
}

/**
 * Sets the lock timeout of a transaction on the worker, because Citus does not forward the options of the gateway's connection. The table
 * in the statement must have a row on the worker: `set_config` runs once for each row.
 */
export const limitLocksOnWorker = (lockMaxMs: number): Query => ({
  statement: {
    name: 'citus.limit-locks',
    text: `select set_config('lock_timeout', $1::text, true) from usage_backfill`,
  },
  parameters: [`${lockMaxMs}ms`],
});

/**
 * Makes the commit two-phase. It changes nothing, but the table is on the coordinator and known to Citus. Otherwise Citus commits the
 * coordinator and the worker one after the other, and a crash in between loses one of the two.
 */
export const COMMIT_IN_TWO_PHASES = 'delete from citus_two_phase where id = 0';

const findTwoPhase: Statement = {
  name: 'citus.find-two-phase',
  text: `select exists (select from pg_catalog.pg_dist_partition where logicalrelid = to_regclass('citus_two_phase')) as is_there`,
};

export async function hasTwoPhase(directory: Queryable): Promise<boolean> {
  const [found] = await directory.query<{ is_there: boolean }>(findTwoPhase);
  return found!.is_there;
}

export const CREATE_TWO_PHASE = `create table if not exists citus_two_phase (id integer primary key);
select citus_add_local_table_to_metadata('citus_two_phase')
where not exists (select from pg_dist_partition where logicalrelid = 'citus_two_phase'::regclass);`;

/**
 * Creates an insert of rows that are passed as a parameter. With a condition that only the worker can evaluate, Citus forwards the
 * statement unchanged; otherwise it would copy the rows to the worker in three messages. The table in the condition has one row.
 *
 * @param text returns the statement, with the given condition after the rows
 * @param rows the rows in the text, if they are JSON
 * @param table the name of the rows in the text
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

/** Allows triggers in a distributed schema. They are safe, because they change only tables of the same schema, on the same worker. */
export const ALLOW_TRIGGERS = 'set local citus.enable_unsafe_triggers to on;';

/**
 * Moves the tables of a schema and their rows to a worker, in the transaction that created the schema. A table without a primary key gets a
 * replica identity, so that its rows can be deleted while Citus moves the table to another worker.
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
 * Redefines functions of a distributed schema, after its creation and after each migration: functions run with another search_path on the
 * worker. A function that a statement calls must not read a table that Citus knows, so it reads the worker's shard.
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
