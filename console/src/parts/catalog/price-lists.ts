import { dayStart, isDay } from '../days.ts';
import { type Fields, fieldsOf, listOf, textOf } from './catalog-value.ts';
import type { CatalogEdit } from './edits.ts';
import { edited } from './edits.ts';
import { PRICE_KEYS } from './price-keys.ts';

/** Amounts by price key, as entered. A key without an amount is a field without input. */
export type PriceDraft = { readonly [key: string]: string };

/** A price list of a model: the first one, or one that applies from a day on. */
export interface PriceList {
  /** Below the price of the model. */
  readonly path: CatalogEdit['path'];
  /** As in the text; `null` for the first list. */
  readonly from: string | null;
  readonly fields: Fields;
}

export function priceLists(price: Fields): PriceList[] {
  const { later, ...first } = price;
  return [
    { path: [], from: null, fields: first },
    ...listOf(later).map((each, index) => {
      const { from, ...fields } = fieldsOf(each);
      return { path: ['later', index], from: textOf(from), fields };
    }),
  ];
}

/** The start of a list; `NaN` if it is not valid. */
export function startMs(from: string, timezone: string): number {
  return Date.parse(isDay(from) ? dayStart(from, timezone) : from);
}

/** The list that applies at an instant. */
export function listAt(lists: readonly PriceList[], nowMs: number, timezone: string): PriceList {
  const begun = lists.filter(({ from }) => from === null || startMs(from, timezone) <= nowMs);
  return begun.at(-1) ?? { path: [], from: null, fields: {} };
}

/** The lists that begin after an instant. */
export function listsAfter(lists: readonly PriceList[], nowMs: number, timezone: string): PriceList[] {
  return lists.filter(({ from }) => from !== null && startMs(from, timezone) > nowMs);
}

const USUAL_KEYS = ['input', 'cachedInput', 'output'];

/** The amounts of a list, with a field for each usual price of a list of tokens. */
export function priceDraft(fields: Fields): PriceDraft {
  const isToken = fields.input !== undefined || PRICE_KEYS.every((key) => fields[key] === undefined);
  return Object.fromEntries(
    PRICE_KEYS.filter((key) => isAmount(fields[key]) || (isToken && USUAL_KEYS.includes(key))).map((key) => [
      key,
      textOf(fields[key]),
    ]),
  );
}

/** The members of a list that are not one amount: prices by length, time of day and so on. */
export function otherKeys(fields: Fields): string[] {
  const isPrice = (key: string): boolean => PRICE_KEYS.some((each) => each === key);
  return Object.keys(fields).filter((key) => !isPrice(key) || !isAmount(fields[key]));
}

function isAmount(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

export function priceEdits(path: CatalogEdit['path'], before: PriceDraft, after: PriceDraft): CatalogEdit[] {
  return Object.entries(after).flatMap(([key, amount]) => edited([...path, key], before[key] ?? '', amount));
}

/** A list with other amounts; all else stays. */
export function withPrices(fields: Fields, prices: PriceDraft): Fields {
  const rest = Object.entries(fields).filter(([key]) => !Object.hasOwn(prices, key));
  return Object.fromEntries([...Object.entries(prices).filter(([, amount]) => amount !== ''), ...rest]);
}
