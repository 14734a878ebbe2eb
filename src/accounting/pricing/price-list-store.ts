import { createHash } from 'node:crypto';
import { writeRows } from '../../db/columns.ts';
import type { Query, Statement } from '../../db/database.ts';
import type { UnitPrices } from './charge.ts';

/** This file stores price lists. The id of a list is a hash of its content, so every node knows it without a query. */

/** Inserts in the order of ids, so that nodes that insert the same lists do not deadlock. */
const insertPriceLists: Statement = {
  name: 'settlement.insert-price-lists',
  text: `insert into price_lists (id, prices)
select id::uuid, prices::jsonb from unnest($1::text[], $2::text[]) as l (id, prices)
order by id
on conflict (id) do nothing`,
};

export interface PriceList {
  readonly id: string;
  readonly text: string;
}

/** Maximum number of remembered lists. A configuration has far fewer, but journals may contain those of earlier configurations. */
const STORED_MAX = 10_000;

export class StoredPriceLists {
  readonly #stored = new Set<string>();

  /** Returns the lists that this node has not stored yet, without duplicates. */
  missingOf(prices: Iterable<UnitPrices>): readonly PriceList[] {
    const missing = new Map<string, PriceList>();
    for (const each of prices) {
      const list = listOf(each);
      if (!this.#stored.has(list.id)) missing.set(list.id, list);
    }
    return [...missing.values()];
  }

  /** Called when these lists are durably stored. */
  add(lists: readonly PriceList[]): void {
    if (this.#stored.size > STORED_MAX) this.#stored.clear();
    for (const { id } of lists) this.#stored.add(id);
  }
}

export const priceListWrites = (lists: readonly PriceList[]): Query[] =>
  writeRows(insertPriceLists, lists, ['id', 'text']);

export function priceListId(prices: UnitPrices): string {
  return listOf(prices).id;
}

const lists = new WeakMap<UnitPrices, PriceList>();

function listOf(prices: UnitPrices): PriceList {
  let list = lists.get(prices);
  if (list === undefined) {
    const text = contentText(prices);
    const hash = createHash('sha256').update(text).digest('hex');
    list = { id: hash.slice(0, 32), text };
    lists.set(prices, list);
  }
  return list;
}

/** Content of a list as JSON with sorted names, amounts as text. */
function contentText(prices: UnitPrices): string {
  return JSON.stringify(prices, (_name, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
