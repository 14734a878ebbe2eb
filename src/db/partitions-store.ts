import type { Queryable, Statement } from './database.ts';
import { intColumn, orNull, type RowOf, selection, textColumn } from './table.ts';

/** SQL: comment that marks the schema of a partition. A schema of the same name in another database has a different one. */
const MARK = `format('partition %s of Faregate, made %s', number, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;

const PARTITIONS = selection({
  number: intColumn('number'),
  /** Schema of the partition; `null`: the directory's, which contains the first partition. */
  schema: orNull(textColumn('schema')),
  mark: textColumn(`${MARK} as mark`),
});

export type PartitionRow = RowOf<typeof PARTITIONS>;

const listPartitions: Statement = {
  name: 'partitions.list',
  text: `select ${PARTITIONS.list} from partitions order by number`,
};

/** Reads all partitions, in the order of their numbers, which start at 0 and have no gaps. */
export async function readPartitions(directory: Queryable): Promise<PartitionRow[]> {
  return PARTITIONS.all(await directory.query(listPartitions));
}

/**
 * SQL that registers a partition, at the end of the transaction that created its schema. The lock delays first heartbeats: a node that
 * starts now either knows the partition or finds that it was added (`accounting/partitions/account-partition-store.ts`).
 */
export const registration = (number: number, schema: string): string => `lock table nodes in share mode;
insert into partitions (number, schema) values (${number}, '${schema}');
do $mark$ begin
  execute format('comment on schema ${schema} is %L', (select ${MARK} from partitions where number = ${number}));
end $mark$;`;

const SCHEMA = selection({
  /** Name of the schema; `null` if the schema of the connection does not exist. */
  schema: orNull(textColumn('current_schema()::text as schema')),
  mark: orNull(textColumn(`obj_description(current_schema()::regnamespace, 'pg_namespace') as mark`)),
});

const readSchema: Statement = { name: 'partitions.read-schema', text: `select ${SCHEMA.list}` };

/** Reads the schema that the connection uses, and the comment on it. */
export async function readSchemaOf(partition: Queryable): Promise<RowOf<typeof SCHEMA>> {
  return SCHEMA.first(await partition.query(readSchema))!;
}
