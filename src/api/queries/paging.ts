import { invalidRequest } from '../../errors/gateway-error.ts';

/** Parameters of a query string. The value of a repeated one is a list. */
export type QueryString = Readonly<Record<string, unknown>>;

/** A page with the members that the messages family defines. */
interface Page<Item> {
  readonly data: readonly Item[];
  /** Whether there are more items in the direction of paging. */
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/**
 * Returns a page of a list. Without a limit, it is the whole list, because chat clients ask for no further pages.
 * @throws GatewayError `invalidRequest` for an invalid parameter or an unknown item
 */
export function pageOf<Item extends { readonly id: string }>(items: readonly Item[], query: QueryString): Page<Item> {
  const limit = readLimit(query) ?? items.length;
  const after = indexOf(items, query, 'after_id');
  const before = indexOf(items, query, 'before_id');
  const asked = items.slice(after === null ? 0 : after + 1, before ?? items.length);
  // If the request has `before_id`, the page ends just before that item.
  const data =
    before !== null && after === null ? asked.slice(Math.max(0, asked.length - limit)) : asked.slice(0, limit);
  return {
    data,
    has_more: data.length < asked.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function readLimit(query: QueryString): number | null {
  const text = readText(query, 'limit');
  if (text === null) return null;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw invalidRequest('limit: Expected a whole number of at least 1.', 'limit');
  return Number(text);
}

function indexOf(items: readonly { readonly id: string }[], query: QueryString, name: string): number | null {
  const id = readText(query, name);
  if (id === null) return null;
  const index = items.findIndex((item) => item.id === id);
  if (index === -1) throw invalidRequest(`${name}: The list contains no item with this id.`, name);
  return index;
}

function readText(query: QueryString, name: string): string | null {
  const value = query[name];
  if (value === undefined || value === '') return null;
  if (typeof value !== 'string') throw invalidRequest(`${name}: This parameter occurs twice in the query.`, name);
  return value;
}
