import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-lanes.ts';
import { createNameSearch } from '../../db/name-search.ts';
import type { LookedThrough, SliceTiming } from '../../lib/slices.ts';

/** The SQL of lists of accounts: which ones a filter lets through, newest first, because ids sort by time. */

export interface AccountFilter {
  /** A part of the name or of the e-mail address in any case, or the id. */
  readonly search?: string | undefined;
  /** All of the name or of the e-mail address. */
  readonly name?: string | undefined;
}

/** Plans: accounts_by_name and accounts_by_email. Few accounts have one name. */
const listNamed: Statement = {
  name: 'accounts.list-named',
  text: `select id from (
  select id from accounts where name = $1::text
  union select id from accounts where email = $1::text
) named
where $2::text is null or id < $2 order by id desc limit $3::int`,
};

/** Finds the ids of accounts for lists. */
export function createAccountList(database: DirectoryQueryable) {
  const find = createNameSearch(database, 'accounts');
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
    return find(search, beforeId, limit, timing);
  };
}
