import type { UsageGroup } from '../../api/types.ts';
import { fieldsOf, listOf, textOf, textsOf } from '../../parts/catalog/catalog-value.ts';
import { listAt, listsAfter, type PriceList, priceLists } from '../../parts/catalog/price-lists.ts';
import type { Catalog } from '../../parts/catalog/use-catalog.ts';
import { isYuan } from '../../parts/forms/number-text.ts';
import { marginOrder } from '../../parts/usage/shown-margin.ts';

/** The rows of the table of models, and their orders. */

export interface ModelRow {
  readonly id: string;
  readonly displayName: string;
  readonly aliases: readonly string[];
  readonly isListed: boolean;
  readonly context: string;
  readonly input: string;
  readonly output: string;
  readonly isByTimeOfDay: boolean;
  readonly routes: readonly string[];
  readonly later: readonly PriceList[];
  /** Of the last `MARGIN_DAYS`; `undefined`: no calls, or not loaded. */
  readonly sums: UsageGroup | undefined;
}

export function rowsOf(
  { value: { models } }: Catalog,
  nowMs: number,
  timezone: string,
  margins: ReadonlyMap<string, UsageGroup>,
): ModelRow[] {
  return Object.entries(models).map(([id, fields]) => {
    const lists = priceLists(fieldsOf(fields.price));
    const { fields: price } = listAt(lists, nowMs, timezone);
    return {
      id,
      displayName: textOf(fields.displayName),
      aliases: textsOf(fields.aliases),
      isListed: textOf(fields.listed) !== 'false',
      context: textOf(fields.contextLength),
      input: textOf(price.input),
      output: textOf(price.output),
      isByTimeOfDay: price.timeOfDay !== undefined,
      routes: listOf(fields.routes).map((route) => {
        const { provider, model } = fieldsOf(route);
        return `${textOf(provider)}/${textOf(model)}`;
      }),
      later: listsAfter(lists, nowMs, timezone),
      sums: margins.get(id),
    };
  });
}

const SORTS: Readonly<Record<SortName, (row: ModelRow) => string | number>> = {
  name: ({ id }) => id,
  context: ({ context }) => tokensOf(context),
  input: ({ input }) => amountOf(input),
  output: ({ output }) => amountOf(output),
  margin: ({ sums }) => marginOrder(sums),
  routes: ({ routes }) => routes.length,
  later: ({ later }) => later[0]?.from ?? '~',
};
export type SortName = 'name' | 'context' | 'input' | 'output' | 'margin' | 'routes' | 'later';
export const SORT_NAMES = ['name', 'context', 'input', 'output', 'margin', 'routes', 'later'] as const;

/** Compares two rows in ascending order. */
export function compareRows(by: SortName, a: ModelRow, b: ModelRow): number {
  return compare(SORTS[by](a), SORTS[by](b));
}

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

/** Amounts that are not known come last. */
function amountOf(text: string): number {
  return isYuan(text) ? Number(text) : Number.MAX_VALUE;
}

/** A length such as `128k`, for sorting. */
function tokensOf(text: string): number {
  const [, count = '', unit = ''] = /^([\d.]+)\s*([km]?)/i.exec(text.replaceAll(',', '')) ?? [];
  return count === '' ? 0 : Number(count) * ({ k: 1000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
}
