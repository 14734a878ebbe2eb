import type { Drain } from './drain-store.ts';

export interface DrainedRoutes {
  /** The drain that applies to the route, the broadest if there are several; `null` if the route takes calls. */
  find(modelId: string, route: { readonly providerId: string; readonly providerModel: string }): Drain | null;
}

export const NOTHING_DRAINED: DrainedRoutes = { find: () => null };
