import { dayStart, isDay } from '../days.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from './catalog-value.ts';
import type { EditPath } from './edits.ts';
import { PRICE_KEYS, type PriceTable, TOKEN_PRICE_KEYS } from './price-keys.ts';

/** A price list of a model: the first one, or one that applies from a day on. */
export interface PriceList {
  /** Below the price of the model. */
  readonly path: EditPath;
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

/** The amounts that a form shows: those of the list, and the usual prices of a list of tokens. An empty amount is a field without input. */
export function amountKeys(list: Fields): string[] {
  const isToken = list.input !== undefined || PRICE_KEYS.every((key) => list[key] === undefined);
  return PRICE_KEYS.filter(
    (key) => isAmount(list[key]) || (isToken && USUAL_KEYS.includes(key) && list[key] === undefined),
  );
}

/** The amounts of token prices in a list. Prices that replace it, such as those above an input length, must have the same keys. */
export function tokenPrices(list: Fields): Fields {
  return Object.fromEntries(
    TOKEN_PRICE_KEYS.filter((key) => isAmount(list[key]) && list[key] !== '').map((key) => [key, list[key]]),
  );
}

/** The tables of a list that a form shows, out of those that it knows. */
export function shownTables(list: Fields, known: readonly PriceTable[]): PriceTable[] {
  return known.filter((table) => (table === 'perImage' ? isFlat(list.perImage) : isFields(list[table])));
}

/** The tables that can be added to a list. Two tables that replace the same prices would contradict each other. */
export function addableTables(list: Fields, known: readonly PriceTable[]): PriceTable[] {
  const isFree = (table: string): boolean => list[table] === undefined;
  return known.filter(
    (table) =>
      isFree(table) &&
      (table !== 'thinking' || isFree('outputAbove')) &&
      (table !== 'outputAbove' || isFree('thinking')),
  );
}

/** A table of images by quality and size has tables in it, and has no form. */
function isFlat(table: unknown): boolean {
  return isFields(table) && Object.values(table).every(isAmount);
}

function isAmount(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

/** A new table of prices, with the prices of the list that it replaces. */
export function newTable(table: PriceTable, list: Fields, timezone: string): Fields {
  const prices = tokenPrices(list);
  switch (table) {
    case 'above':
    case 'outputAbove':
      return { '': prices };
    case 'thinking':
      return prices;
    case 'timeOfDay': {
      const { timeOfDay: _timeOfDay, later: _later, from: _from, official: _official, ...lists } = list;
      return { id: 'day', timezone, peak: { hours: ['09:00-21:00'], ...lists }, offPeak: lists };
    }
    case 'official':
      return { input: '', output: '', discountBasisPoints: '' };
    default:
      return { '': '' };
  }
}

/** The prices of a model as those of a group. */
export function groupPrices({ later: _later, official: _official, ...list }: Fields): Fields {
  return list;
}
