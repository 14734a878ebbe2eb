import type { Queryable, Statement } from './database.ts';
import { intColumn, orNull, type RowOf, selection, textColumn } from './table.ts';

/** The SQL of what the directory knows of partitions, and of what a partition says of itself. */

/** SQL: what the schema of a partition has as its comment: another database may have had a schema of that name. */
const MARK = `format('partition %s of Faregate, made %s', number, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;

const PARTITIONS = selection({
  number: intColumn('number'),
  /** `null`: that of the directory, which the first partition is in. */
  schema: orNull(textColumn('schema')),
  mark: textColumn(`${MARK} as mark`),
});

/** A partition, as the directory knows it. */
export type PartitionRow = RowOf<typeof PARTITIONS>;

/** Plan: primary key. */
const listPartitions: Statement = {
  name: 'partitions.list',
  text: `select ${PARTITIONS.list} from partitions order by number`,
};

/** In order, from 0 on without gaps. */
export async function readPartitions(directory: Queryable): Promise<PartitionRow[]> {
  return PARTITIONS.all(await directory.query(listPartitions));
}

/**
 * Adds a partition to those that the directory knows, at the end of the transaction that has made its schema. No node begins to write
 * heartbeats meanwhile: whoever began before may not know it, and whoever begins later does, or finds that it was added
 * (`accounting/partitions/account-partition-store.ts`).
 */
export const registration = (number: number, schema: string): string => `lock table nodes in share mode;
insert into partitions (number, schema) values (${number}, '${schema}');
do $mark$ begin
  execute format('comment on schema ${schema} is %L', (select ${MARK} from partitions where number = ${number}));
end $mark$;`;

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
