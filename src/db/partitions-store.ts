import type { Lane, Queryable, Statement } from './database.ts';
import { isUniqueViolation } from './errors.ts';
import { intColumn, orNull, type RowOf, selection, textColumn } from './table.ts';

/** The SQL of what the directory knows of partitions, and of what a partition says of itself. */

const PARTITIONS = selection({
  number: intColumn('number'),
  /** `null`: that of the directory, which the first partition is in. */
  schema: orNull(textColumn('schema')),
  /** `making`: its tables may not be there yet, and no account is in it. */
  state: textColumn<'making' | 'ready'>('state'),
  /** What its schema has as its comment: another database may have had a schema of that name. */
  mark: textColumn(`format('partition %s of Faregate, made %s', number,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) as mark`),
});

/** A partition, as the directory knows it. */
export type PartitionRow = RowOf<typeof PARTITIONS>;

/** Plan: primary key. */
const listPartitions: Statement = {
  name: 'partitions.list',
  text: `select ${PARTITIONS.list} from partitions order by number`,
};

const insertPartition: Statement = {
  name: 'partitions.insert',
  text: `insert into partitions (number, schema, state) values ($1::smallint, $2, 'making') returning ${PARTITIONS.list}`,
};

const setReady: Statement = {
  name: 'partitions.set-ready',
  text: `update partitions set state = 'ready' where number = $1::smallint and state = 'making'`,
};

/** In order, from 0 on without gaps. */
export async function readPartitions(directory: Queryable): Promise<PartitionRow[]> {
  return PARTITIONS.all(await directory.query(listPartitions));
}

/**
 * While one is added, no node begins to write heartbeats: whoever began before may not know it, and whoever begins later does, or finds that
 * it was added (`accounting/partitions/account-partition-store.ts`).
 */
const keepNodesOut: Statement = { name: 'partitions.keep-nodes-out', text: 'lock table nodes in share mode' };

/** The number must be the next one. `null`: another process was quicker. */
export async function beginPartition(directory: Lane, number: number, schema: string): Promise<PartitionRow | null> {
  try {
    return await directory.transaction(async (transaction) => {
      await transaction.query(keepNodesOut);
      return PARTITIONS.first(await transaction.query(insertPartition, [number, schema]));
    });
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
}

/** From now on it may have accounts. */
export async function completePartition(directory: Queryable, number: number): Promise<void> {
  await directory.query(setReady, [number]);
}

const SCHEMA = selection({
  /** `null`: there is none of that name. */
  schema: orNull(textColumn('current_schema()::text as schema')),
  /** Its comment. */
  mark: orNull(textColumn(`obj_description(current_schema()::regnamespace, 'pg_namespace') as mark`)),
});

const readSchema: Statement = { name: 'partitions.read-schema', text: `select ${SCHEMA.list}` };

/** The schema in which statements of a database are, and its comment. */
export async function readSchemaOf(partition: Queryable): Promise<RowOf<typeof SCHEMA>> {
  return SCHEMA.first(await partition.query(readSchema))!;
}
