import { firstIdAt } from '../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../lib/slices.ts';
import { type Statement, type StoredRow, toArray } from './database.ts';
import type { DirectoryQueryable } from './home-lanes.ts';
import type { Selection } from './table.ts';

/** What a list is filtered by: the value of each column, and the time; `null` filters nothing. */
export interface ListFilter<Column extends string> {
  readonly values: { readonly [Name in Column]: string | null };
  /** Rows that have one of these values in the column `anyOf`; absent or `null`: all rows. */
  readonly anyOf?: readonly string[] | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

interface FilteredListOptions<Row extends object, Column extends string> {
  /** Named by the code, never by a request. */
  readonly table: string;
  readonly columns: Selection<Row>;
  /** Of ids, which sort by time. */
  readonly idPrefix: string;
  readonly at: string;
  /** Columns with an index that has the id behind them, the one that leads to the fewest rows first. */
  readonly leads: readonly Column[];
  /** Columns without one: they are looked for in the rows that others lead to. */
  readonly others?: readonly Column[];
  /** The lead of which a filter may name several values. */
  readonly anyOf?: Column;
}

/** An id is made some milliseconds before its instant is read. A clock that is set in between may make it more. */
const ID_SLACK_MS = 600_000;
/** Parameters of each statement before the values of columns: rows, limit, ids, instants, lead. */
const FIXED = 8;

/** Rows without an item end a slice. */
export interface SliceRow extends StoredRow {
  readonly id: string | null;
  readonly last_id: string | null;
  readonly rows_read: number;
}

/** The rows with items of a slice of so many rows, and behind which id the next one goes on. */
export function sliceOfRows(found: readonly SliceRow[], rows: number, wanted: number) {
  const items = found.filter((row): row is SliceRow & { readonly id: string } => row.id !== null);
  const { last_id: lastId, rows_read: rowsRead } = found[0]!;
  if (items.length === wanted) return { items, next: items.at(-1)!.id };
  return { items, next: rowsRead < rows ? null : lastId };
}

type FilteredList<Row, Column extends string> = (
  filter: ListFilter<Column>,
  beforeId: string | null,
  limit: number,
  timing: SliceTiming,
) => Promise<LookedThrough<Row>>;

/**
 * Lists a table whose ids sort by time, newest first. The first column that a filter has of those with an index leads to a part of the
 * table, which is looked through a slice at a time; the rest of the filter is looked for in that part. So a rare value makes more
 * slices, and none of them slow.
 */
export function createFilteredList<Row extends object, Column extends string>(
  database: DirectoryQueryable,
  options: FilteredListOptions<Row, Column>,
): FilteredList<Row, Column> {
  const { leads, others = [], columns, idPrefix } = options;
  const names = [...leads, ...others];
  const slices = new Map<Column | 'any' | null, Statement>(
    [null, ...leads, ...(options.anyOf === undefined ? [] : (['any'] as const))].map((lead) => [
      lead,
      sliceOf(options, lead),
    ]),
  );
  const lastId = `${idPrefix}_${'z'.repeat(27)}`;

  return ({ values, anyOf = null, from, to }, beforeId, limit, timing) => {
    const lead = anyOf !== null ? 'any' : (leads.find((name) => values[name] !== null) ?? null);
    const rest = names.map((name) => (name === lead ? null : values[name]));
    const bounds = [
      from === null ? '' : firstIdAt(idPrefix, from.getTime() - ID_SLACK_MS),
      to === null ? lastId : firstIdAt(idPrefix, to.getTime() + ID_SLACK_MS),
      from?.toISOString() ?? '-infinity',
      to?.toISOString() ?? 'infinity',
    ];
    const led = lead === 'any' ? toArray(anyOf!) : lead && values[lead];
    const isExact = rest.every((value) => value === null) && from === null && to === null;
    return lookThrough({ start: beforeId, limit, isExact }, timing, async (behind, rows, wanted) => {
      const parameters = [rows, wanted, behind ?? lastId, ...bounds, led, ...rest];
      const found = await database.query<SliceRow>(slices.get(lead)!, parameters);
      const { items, next } = sliceOfRows(found, rows, wanted);
      return { items: columns.all(items), next };
    });
  };
}

/**
 * A slice. Plan: the index of the lead, or without one the primary key, backwards. The lead is a range and comes first in the order, so
 * that no plan walks the rows of all others until it has found enough. Of several values the newest rows of each are read.
 */
function sliceOf<Row extends object, Column extends string>(
  { table, columns, at, leads, others = [], anyOf }: FilteredListOptions<Row, Column>,
  lead: Column | 'any' | null,
): Statement {
  const names = [...leads, ...others];
  const read = `c.id, c.${at}, ${names.map((name) => `c.${name}`).join(', ')}`;
  const isInTime = 'c.id < $3::text and c.id >= $4::text and c.id < $5::text';
  const rest = names.map((name, i) => `($${i + FIXED + 1}::text is null or p.${name} = $${i + FIXED + 1})`);
  const isLed = lead === null ? '$8::text is null' : `c.${lead} >= $8::text and c.${lead} <= $8::text`;
  const order = lead === null ? 'c.id desc' : `c.${lead} desc, c.id desc`;
  const part =
    lead === 'any'
      ? `select r.* from unnest($8::text[]) as named (value) cross join lateral (
    select ${read} from ${table} c where c.${anyOf} = named.value and ${isInTime} order by c.id desc limit $1::int
  ) r
  order by r.id desc limit $1::int`
      : `select ${read} from ${table} c
  where ${isLed} and ${isInTime}
  order by ${order} limit $1::int`;
  return {
    name: `${table}.slice-${lead ?? 'all'}`,
    text: `with part as materialized (
  ${part}
),
found as (
  select p.id from part p
  where ${rest.join(' and ')} and p.${at} >= $6::timestamptz and p.${at} < $7::timestamptz
  order by p.id desc limit $2::int
)
select ${columns.of('c')}, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last
left join found f on true left join ${table} c on c.id = f.id
order by f.id desc`,
  };
}
