import type { Queryable } from '../../src/db/database.ts';
import { sql } from './sql.ts';

/** The monthly partitions that a gateway creates when it starts. */
const OF_A_MONTH = `relname ~ '^calls_\\d{4}_\\d{2}'`;

/**
 * Every object that migrations create in a database, one line each: tables with their columns in order, types, defaults and storage,
 * partitions, indexes, constraints, triggers, functions and all others. Leaves out monthly partitions, the names that newer servers give
 * to "not null" constraints, and whether a constraint was validated against old rows.
 */
const SELECT_CATALOG = `
with relations as (
  select * from pg_class where relnamespace = current_schema()::regnamespace and not ${OF_A_MONTH}
)
select concat_ws(' ', 'relation', relname, relkind, relpersistence, reloptions::text, relrowsecurity,
  pg_get_expr(relpartbound, oid), case when relkind = 'p' then pg_get_partkeydef(oid) end,
  (select string_agg(inhparent::regclass::text, ',') from pg_inherits where inhrelid = relations.oid)) as line
from relations
union all
select concat_ws(' ', 'column', relname, row_number() over (partition by r.oid order by attnum), attname,
  format_type(atttypid, atttypmod), case when attnotnull then 'not null' end, pg_get_expr(adbin, adrelid), 'storage', attstorage,
  attcompression, attidentity, attgenerated, attislocal, attinhcount,
  (select collname from pg_collation c where c.oid = attcollation))
from relations r
join pg_attribute a on a.attrelid = r.oid and attnum > 0 and not attisdropped
left join pg_attrdef d on d.adrelid = r.oid and d.adnum = attnum
union all
select concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), indisvalid, indisunique, indisprimary, indisreplident)
from pg_index i join relations r on r.oid = i.indexrelid
union all
select concat_ws(' ', 'constraint', conrelid::regclass::text, conname, replace(pg_get_constraintdef(c.oid), ' NOT VALID', ''),
  conislocal, coninhcount, connoinherit)
from pg_constraint c join relations r on r.oid = c.conrelid where contype <> 'n'
union all
select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), tgenabled, tgisinternal)
from pg_trigger t join relations r on r.oid = t.tgrelid where not tgisinternal
union all
select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace
union all
select concat_ws(' ', 'sequence', sequencename) from pg_sequences where schemaname = current_schema()
union all
select concat_ws(' ', 'type', typname, typtype) from pg_type
where typnamespace = current_schema()::regnamespace and typtype not in ('c', 'b')
union all
select concat_ws(' ', 'extension', extname) from pg_extension
union all
select concat_ws(' ', 'comment', objoid::regclass::text, objsubid, description)
from pg_description join relations r on r.oid = objoid
order by 1`;

export async function catalogOf(database: Queryable): Promise<string[]> {
  const rows = await sql<{ line: string }>(database, SELECT_CATALOG);
  return rows.map(({ line }) => line);
}
