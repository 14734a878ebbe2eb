import { firstIdAt } from '../lib/ids.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../lib/slices.ts';
import { type Statement, type StoredRow, toArray } from './database.ts';
import type { DirectoryQueryable } from './home-pools.ts';
import type { Selection } from './table.ts';

/** What a list contains. A value of `null` does not restrict it. */
interface ListFilter<Column extends string> {
  readonly values: { readonly [Name in Column]: string | null };
  /** Allowed values of the column `anyOf`; absent or `null`: any. */
  readonly anyOf?: readonly string[] | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

interface FilteredListOptions<Row extends object, Column extends string> {
  /** Name of the table: a constant of the code, never part of a request. */
  readonly table: string;
  readonly columns: Selection<Row>;
  readonly idPrefix: string;
  readonly at: string;
  /** Columns with an index on (column, id), the most selective first. */
  readonly leads: readonly Column[];
  /** Columns without an index, which filter the rows that an indexed column selects. */
  readonly others?: readonly Column[];
  /** The column of `leads` that can be filtered by several values. */
  readonly anyOf?: Column;
}

/** Maximum difference between the time in an id and the row's timestamp: the clock may be set in between. */
const ID_SLACK_MS = 600_000;
/** Number of parameters before those for columns: rows, limit, ids, instants, leading column. */
const FIXED = 8;

/** A row of a batch. A batch without matches is a single row with `null` as `id`. */
export interface PageRow extends StoredRow {
  readonly id: string | null;
  readonly last_id: string | null;
  readonly rows_read: number;
}

/** Converts the rows of a batch. `next`: the id after which the next batch starts. */
export function pageOfRows(found: readonly PageRow[], rows: number, wanted: number) {
  const items = found.filter((row): row is PageRow & { readonly id: string } => row.id !== null);
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
 * Lists a table whose ids sort by time, newest first. The first filtered column with an index selects rows, which are scanned in batches
 * and filtered by the other columns. A rare value takes more batches, but no batch is slow.
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
      pageStatement(options, lead),
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
      const found = await database.query<PageRow>(slices.get(lead)!, parameters);
      const { items, next } = pageOfRows(found, rows, wanted);
      return { items: columns.all(items), next };
    });
  };
}

/**
 * Creates the statement for a batch. It uses the index of the leading column in descending order; without one, the primary key. The
 * condition on the leading column is a range, and the column comes first in the order, so that no plan scans rows with other values.
 */
function pageStatement<Row extends object, Column extends string>(
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
