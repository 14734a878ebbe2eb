import type { AdminClient } from '../api/management/admin-client.ts';
import type { Page } from '../api/management/response-fields.ts';

/** Maximum number of items in a page of the admin API. */
const PAGE_LIMIT = '500';

/** Yields the pages of a list, each requested when it is read. `limit` returns the maximum number of items for the next one. */
export async function* pages<List extends Page<unknown>>(
  admin: AdminClient,
  path: string,
  query: Record<string, string>,
  limit: () => string = () => PAGE_LIMIT,
): AsyncIterable<List> {
  let cursor: string | null = null;
  do {
    const search = new URLSearchParams({ ...query, limit: limit(), ...(cursor === null ? {} : { cursor }) });
    const page: List = await admin.request('GET', `${path}?${search}`);
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

export async function listAll<Item>(admin: AdminClient, path: string, query: Record<string, string>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const { data } of pages<Page<Item>>(admin, path, query)) items.push(...data);
  return items;
}

/** Reads the first `limit` items of a list. A page can be shorter, if the API takes long to find items. */
export async function listUpTo<Item>(
  admin: AdminClient,
  path: string,
  query: Record<string, string>,
  limit: string,
): Promise<Item[]> {
  const items: Item[] = [];
  // The first request has the limit as the user typed it, so that the API reports an invalid one.
  const left = (): string => (items.length === 0 ? limit : String(Number(limit) - items.length));
  for await (const { data } of pages<Page<Item>>(admin, path, query, left)) {
    items.push(...data);
    if (items.length >= Number(limit)) break;
  }
  return items;
}

export function queryOf(given: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  const query: Record<string, string> = {};
  for (const name of names) if (given[name] !== undefined) query[name] = String(given[name]);
  return query;
}
