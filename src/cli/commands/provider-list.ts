import type { RouteResponse } from '../../api/routes/wire.ts';
import type { CommandRows } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { type Column, columnsOf, renderTable } from '../table.ts';
import { catalogInForce, unusedBecause } from './catalog-in-force.ts';

type Catalog = Awaited<ReturnType<typeof catalogInForce>>;

interface ListedProvider {
  readonly id: string;
  readonly protocol: string;
  readonly baseUrl: string;
  /** Models with a route to the provider. */
  readonly models: readonly string[];
  readonly routes: number;
  /** Routes that take no calls, by reason. */
  readonly unused: Readonly<Record<string, number>>;
  readonly credentials: readonly Pick<RouteResponse['credentials'][number], 'name' | 'state'>[];
  readonly lastError: string | null;
  readonly lastErrorAt: string | null;
}

export const providerList: CommandRows = {
  list: {
    about: 'list the providers, with the state of their routes and credentials as this node sees it',
    async reads(admin, output) {
      const providers = listed(await catalogInForce(admin));
      output.print(providers, () => renderTable(providers, 'The catalog has no providers.', COLUMNS));
    },
  },
};

function listed({ providers, routes }: Catalog): ListedProvider[] {
  return Object.entries(providers).map(([id, { protocol, baseUrl }]) => {
    const own = routes.filter(({ provider }) => provider === id);
    const unused: Record<string, number> = {};
    for (const reason of own.map(unusedBecause)) if (reason !== null) unused[reason] = (unused[reason] ?? 0) + 1;
    const newest = own.toSorted((a, b) => (b.lastErrorAt ?? '').localeCompare(a.lastErrorAt ?? ''))[0];
    return {
      ...{ id, protocol, baseUrl },
      models: [...new Set(own.map(({ model }) => model))],
      routes: own.length,
      unused,
      // All routes of a provider have its credentials.
      credentials: (own[0]?.credentials ?? []).map(({ name, state }) => ({ name, state })),
      lastError: newest?.lastError ?? null,
      lastErrorAt: newest?.lastErrorAt ?? null,
    };
  });
}

const COLUMNS: readonly Column<ListedProvider>[] = [
  ...columnsOf<ListedProvider>('provider: id', 'protocol', 'address: baseUrl'),
  { title: 'models', cell: ({ models }) => String(models.length) },
  { title: 'routes in use', cell: describeUse },
  {
    title: 'credentials',
    cell: ({ credentials }) => credentials.map(({ name, state }) => `${name} ${state}`).join(', '),
  },
  {
    title: 'last error',
    cell: ({ lastError, lastErrorAt }) => (lastError === null ? '' : `${localTime(lastErrorAt ?? '')} ${lastError}`),
  },
];

/** Describes the routes of a provider, as in `2 of 3 (1 drained)`. */
function describeUse({ routes, unused }: ListedProvider): string {
  const reasons = Object.entries(unused).map(([reason, count]) => `${count} ${reason}`);
  const left = routes - Object.values(unused).reduce((sum, count) => sum + count, 0);
  return `${left} of ${routes}${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`;
}
