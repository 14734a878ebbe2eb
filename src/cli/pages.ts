import type { AdminClient } from '../api/management/admin-client.ts';
import type { Page } from '../api/management/response-fields.ts';

/** The most items of a page that the admin API returns. */
const PAGE_LIMIT = '500';

/** The pages of a list, each asked for when it is read; `limit`: how many items the next page may have. */
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

/** All items of a list, read page by page. */
export async function listAll<Item>(admin: AdminClient, path: string, query: Record<string, string>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const { data } of pages<Page<Item>>(admin, path, query)) items.push(...data);
  return items;
}

/** The first items of a list, as many as the text says. A page may have fewer, where finding them takes long. */
export async function listUpTo<Item>(
  admin: AdminClient,
  path: string,
  query: Record<string, string>,
  limit: string,
): Promise<Item[]> {
  const items: Item[] = [];
  // The first page has the text itself, so that the API says what is wrong with it.
  const left = (): string => (items.length === 0 ? limit : String(Number(limit) - items.length));
  for await (const { data } of pages<Page<Item>>(admin, path, query, left)) {
    items.push(...data);
    if (items.length >= Number(limit)) break;
  }
  return items;
}
