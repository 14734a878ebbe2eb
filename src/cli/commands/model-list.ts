import type { RouteResponse } from '../../api/routes/wire.ts';
import type { CommandRows } from '../command-rows.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';
import { catalogInForce, unusedBecause } from './catalog-in-force.ts';

type Catalog = Awaited<ReturnType<typeof catalogInForce>>;
type Price = Catalog['models'][string]['price'];

interface ListedModel extends Omit<Catalog['models'][string], 'displayName'> {
  readonly id: string;
  readonly displayName: string;
  readonly routes: readonly Pick<RouteResponse, 'provider' | 'providerModel' | 'state' | 'drained'>[];
}

export const modelList: CommandRows = {
  list: {
    about: 'list the models that the gateway serves, with their list prices in yuan and the providers of their routes',
    async reads(admin, output) {
      const models = listed(await catalogInForce(admin));
      output.print(models, () => renderTable(models, 'The catalog has no models.', COLUMNS));
    },
  },
};

function listed({ models, routes }: Catalog): ListedModel[] {
  return Object.entries(models).map(([id, { aliases, displayName = id, operations, listed, price }]) => ({
    id,
    displayName,
    ...{ aliases, operations, listed, price },
    routes: routes
      .filter(({ model }) => model === id)
      .map(({ provider, providerModel, state, drained }) => ({ provider, providerModel, state, drained })),
  }));
}

/** Keys of prices that have a column. */
const TOKEN_PRICES: readonly string[] = ['input', 'cachedInput', 'output'];

const COLUMNS: readonly Column<ListedModel>[] = [
  ...columnsOf<ListedModel>('model: id', 'name: displayName', 'operations'),
  ...TOKEN_PRICES.map((key) => ({
    title: `${key === 'cachedInput' ? 'cached' : key} ¥/M`,
    cell: ({ price }: ListedModel) => priceOf(price, key) ?? '-',
    align: 'right' as const,
  })),
  { title: 'other prices ¥', cell: ({ price }) => otherPricesOf(price).join(', ') },
  { title: 'routes', cell: ({ routes }) => routes.map(describeRoute).join(', ') || 'none' },
  ...columnsOf<ListedModel>('listed', 'aliases'),
];

/** Returns a price; with a time of day, that of peak hours and that of other hours. */
function priceOf({ timeOfDay, ...prices }: Price, key: string): string | null {
  if (timeOfDay === undefined) return textOf(prices[key]);
  const hours = [timeOfDay.peak[key], timeOfDay.offPeak[key]].map(textOf);
  return hours.every((price) => price === null) ? null : hours.map((price) => price ?? '-').join('/');
}

function textOf(price: unknown): string | null {
  if (price === undefined) return null;
  return typeof price === 'string' ? price : 'varies';
}

function otherPricesOf(price: Price): string[] {
  const { timeOfDay, ...prices } = price;
  const keys = new Set(Object.keys({ ...prices, ...timeOfDay?.peak, ...timeOfDay?.offPeak }));
  return [...keys]
    .filter((key) => !TOKEN_PRICES.includes(key))
    .flatMap((key) => {
      const text = priceOf(price, key);
      return text === null ? [] : [`${key} ${text}`];
    });
}

function describeRoute(route: ListedModel['routes'][number]): string {
  const reason = unusedBecause(route);
  return reason === null ? route.provider : `${route.provider} (${reason})`;
}
