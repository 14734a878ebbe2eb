import type { ConfigResponse } from '../../api/config/admin.ts';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { RoutesResponse } from '../../api/routes/admin.ts';
import type { RouteResponse } from '../../api/routes/wire.ts';

/** Unit prices by their key, such as `input`; images can have several. */
type Prices = Readonly<Record<string, unknown>>;

/** What lists show of the sections of a configuration. */
interface ShownSections {
  readonly providers: Readonly<Record<string, { readonly protocol: string; readonly baseUrl: string }>>;
  readonly models: Readonly<
    Record<
      string,
      {
        readonly aliases: readonly string[];
        readonly displayName?: string;
        readonly operations: readonly string[];
        readonly listed: boolean;
        readonly price: Prices & { readonly timeOfDay?: { readonly peak: Prices; readonly offPeak: Prices } };
      }
    >
  >;
}

/** Providers and models that the gateway has loaded, and the state of their routes. */
export async function catalogInForce(
  admin: AdminClient,
): Promise<ShownSections & { readonly routes: readonly RouteResponse[] }> {
  const { config } = await admin.request<ConfigResponse>('GET', '/config');
  const { data: routes } = await admin.request<RoutesResponse>('GET', '/routes');
  return { ...(config as ShownSections), routes };
}

/** Returns the reason why a route takes no calls; `null` if it does. */
export function unusedBecause({ state, drained }: Pick<RouteResponse, 'state' | 'drained'>): string | null {
  if (drained !== null) return 'drained';
  return state === 'off' || state === 'open' ? state : null;
}
