import type { Drain } from './drain-store.ts';

/** Looks up whether a route is drained. */
export interface DrainedRoutes {
  /** The drain that has the route, the widest one if several have it; `null` if it takes calls. */
  find(modelId: string, route: { readonly providerId: string; readonly providerModel: string }): Drain | null;
}

export const NOTHING_DRAINED: DrainedRoutes = { find: () => null };
