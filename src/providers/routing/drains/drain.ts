/** What is drained: all routes to a provider, those of one model, or those to one of the provider's own models. */
export interface DrainTarget {
  readonly providerId: string;
  /** The canonical id of a model; `null`: every model. */
  readonly model: string | null;
  /** The provider's name of the model; `null`: every name. */
  readonly providerModel: string | null;
}

/** A decision of an operator that routes take no new calls, until it is taken back. */
export interface Drain extends DrainTarget {
  readonly reason: string | null;
  readonly drainedBy: string;
  readonly drainedAt: Date;
}

/** Looks up whether a route is drained. */
export interface DrainedRoutes {
  /** The drain that has the route, the widest one if several have it; `null` if it takes calls. */
  find(modelId: string, route: { readonly providerId: string; readonly providerModel: string }): Drain | null;
}

export const NOTHING_DRAINED: DrainedRoutes = { find: () => null };
