import { allRoutes, type Catalog, type Route } from '../../providers/catalog/catalog.ts';
import type { RouteHealth } from '../../providers/routing/health.ts';
import type { CredentialStanding } from '../../providers/upstream/credentials.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { routeToWire } from './wire.ts';

export interface RouteAdminParts {
  readonly health: RouteHealth;
  /** The catalog in force. */
  readonly catalog: () => Catalog;
  /** The credentials of a route's provider, for the route's model. */
  readonly credentialsOf: (route: Route) => readonly CredentialStanding[];
}

/** The routes of all models as this node sees them: the state of their breakers and credentials, and their last failure. */
export function routeEndpoints({ health, catalog, credentialsOf }: RouteAdminParts): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/routes',
      summary: 'List the routes with their health, as this node sees it',
      async run() {
        const routes = allRoutes(catalog());
        return {
          data: routes.map(({ model, route }) =>
            routeToWire(model.id, route, health.standing(route.id), credentialsOf(route)),
          ),
        };
      },
    }),
  ];
}
