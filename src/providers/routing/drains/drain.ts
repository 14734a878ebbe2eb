import type { Drain } from './drain-store.ts';

export interface DrainedRoutes {
  /** Returns the drain that applies to a route, or the broadest one if several apply; `null` if the route is not drained. */
  find(modelId: string, route: { readonly providerId: string; readonly providerModel: string }): Drain | null;
}

export const NOTHING_DRAINED: DrainedRoutes = { find: () => null };
