import type { Drain } from './drain-store.ts';

export interface DrainedRoutes {
  /** Returns the broadest drain that applies to a route; `null` if the route is not drained. */
  find(modelId: string, route: { readonly providerId: string; readonly providerModel: string }): Drain | null;
}

export const NOTHING_DRAINED: DrainedRoutes = { find: () => null };
