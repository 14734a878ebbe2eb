import type { Queryable, Statement } from './database.ts';
import { countColumn, intColumn, orNull, type RowOf, selection } from './table.ts';

const FACTS = selection({
  version: orNull(intColumn('(select max(version) from schema_migrations) as version')),
  /** Size of tables and indexes. The first partition includes the directory. `null` if they are on a Citus worker. */
  sizeBytes: orNull(
    countColumn(`case when current_schema() !~ '^faregate_[0-9]+$' or to_regclass('pg_catalog.pg_dist_schema') is null then (
  select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
  where relnamespace = current_schema()::regnamespace and relkind = 'r'
) end as size_bytes`),
  ),
});

const readFacts: Statement = { name: 'partitions.read-facts', text: `select ${FACTS.list}` };

export async function readPartitionFacts(partition: Queryable): Promise<RowOf<typeof FACTS>> {
  return FACTS.first(await partition.query(readFacts))!;
}
