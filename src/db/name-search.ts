import { type LookedThrough, lookThrough, type SliceTiming } from '../lib/slices.ts';
import type { Statement } from './database.ts';
import { type PageRow, pageOfRows } from './filtered-list.ts';
import type { DirectoryQueryable } from './home-pools.ts';

/**
 * Finds ids, newest first, in batches for as long as `timing` allows. With a text, only those whose name contains the text, ignoring case,
 * or whose id equals it.
 */
type NameSearch = (
  text: string | undefined,
  beforeId: string | null,
  limit: number,
  timing: SliceTiming,
) => Promise<LookedThrough<string>>;

/** Table and columns must be constants of the code, never parts of a request. */
export function createNameSearch(
  database: DirectoryQueryable,
  table: string,
  names: readonly string[] = ['name', 'email'],
): NameSearch {
  // The first batch needs its own statement: there is no text that sorts after every id in every collation.
  const sliceFirst = pageStatement(table, names, 'slice-first', '$1::text is null');
  const sliceNext = pageStatement(table, names, 'slice-next', 'id < $1::text');
  return (text, beforeId, limit, timing) =>
    lookThrough({ start: beforeId, limit, isExact: text === undefined }, timing, async (behind, rows, wanted) => {
      const statement = behind === null ? sliceFirst : sliceNext;
      const found = await database.query<PageRow>(statement, [behind, rows, wanted, text ?? null]);
      const { items, next } = pageOfRows(found, rows, wanted);
      return { items: items.map(({ id }) => id), next };
    });
}

function pageStatement(table: string, names: readonly string[], name: string, isBefore: string): Statement {
  return {
    name: `${table}.${name}`,
    text: `with part as materialized (
  select id, ${names.join(', ')} from ${table} where ${isBefore} order by id desc limit $2::int
),
found as (
  select id from part
  where $4::text is null or ${names.map((column) => `strpos(lower(${column}), lower($4)) > 0`).join(' or ')} or id = $4
  order by id desc limit $3::int
)
select f.id, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last left join found f on true
order by f.id desc`,
  };
}
