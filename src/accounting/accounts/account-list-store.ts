import type { Lane, Statement } from '../../db/database.ts';
import { type LookedThrough, lookThrough, type SliceTiming } from '../../lib/slices.ts';

/** The SQL of lists of accounts: which ones a filter lets through, newest first, because ids sort by time. */

export interface AccountFilter {
  /** A part of the name or of the e-mail address in any case, or the id. */
  readonly search?: string | undefined;
  /** All of the name or of the e-mail address. */
  readonly name?: string | undefined;
}

interface IdRow {
  readonly id: string | null;
  readonly last_id: string | null;
  readonly rows_read: number;
}

/** Plan: primary key, backwards. */
const sliceAll = (name: string, isBefore: string): Statement => ({
  name,
  text: `with part as materialized (
  select id, name, email from accounts where ${isBefore} order by id desc limit $2::int
),
found as (
  select id from part
  where $4::text is null or strpos(lower(name), lower($4)) > 0 or strpos(lower(email), lower($4)) > 0 or id = $4
  order by id desc limit $3::int
)
select f.id, last.id as last_id, last.rows_read
from (select min(id) as id, count(*)::int as rows_read from part) last left join found f on true
order by f.id desc`,
});

const sliceFirst = sliceAll('accounts.slice-first', '$1::text is null');
const sliceNext = sliceAll('accounts.slice-next', 'id < $1::text');

/** Plans: accounts_by_name and accounts_by_email. Few accounts have one name. */
const listNamed: Statement = {
  name: 'accounts.list-named',
  text: `select id from (
  select id from accounts where name = $1::text
  union select id from accounts where email = $1::text
) named
where $2::text is null or id < $2 order by id desc limit $3::int`,
};

/** Finds the ids of accounts for lists. A search looks through accounts a slice at a time, for as long as `timing` allows. */
export function createAccountList(database: Pick<Lane, 'query'>) {
  return async (
    { search, name }: AccountFilter,
    beforeId: string | null,
    limit: number,
    timing: SliceTiming,
  ): Promise<LookedThrough<string>> => {
    if (name !== undefined) {
      const rows = await database.query<{ id: string }>(listNamed, [name, beforeId, limit]);
      const items = rows.map(({ id }) => id);
      return { items, next: items.length === limit ? items.at(-1)! : null };
    }
    const isExact = search === undefined;
    return lookThrough({ start: beforeId, limit, isExact }, timing, async (behind, rows, wanted) => {
      const statement = behind === null ? sliceFirst : sliceNext;
      const found = await database.query<IdRow>(statement, [behind, rows, wanted, search ?? null]);
      const items = found.flatMap(({ id }) => (id === null ? [] : [id]));
      const { last_id: lastId, rows_read: rowsRead } = found[0]!;
      if (items.length === wanted) return { items, next: items.at(-1)! };
      return { items, next: rowsRead < rows ? null : lastId };
    });
  };
}
