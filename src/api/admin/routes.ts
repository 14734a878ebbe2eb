import { allRoutes, type Catalog, type Route } from '../../providers/catalog/catalog.ts';
import type { RouteHealth } from '../../providers/routing/health.ts';
import type { KeyStanding } from '../../providers/upstream/keys.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { routeToWire } from './wire.ts';

export interface RouteAdminParts {
  readonly health: RouteHealth;
  /** The catalog in force. */
  readonly catalog: () => Catalog;
  /** The keys of a route's provider, for the route's model. */
  readonly keysOf: (route: Route) => readonly KeyStanding[];
}

/** The routes of all models as this node sees them: the state of their breakers and keys, and their last failure. */
export function routeEndpoints({ health, catalog, keysOf }: RouteAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/routes',
      summary: 'List the routes with their health, as this node sees it',
      async run() {
        const routes = allRoutes(catalog());
        return {
          data: routes.map(({ model, route }) =>
            routeToWire(model.id, route, health.standing(route.id), keysOf(route)),
          ),
        };
      },
    }),
  ];
}
