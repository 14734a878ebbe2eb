import type { Drain, Route } from '../../api/types.ts';

/** The target of a drain; `null` members match everything. */
export type DrainTarget = Pick<Drain, 'provider' | 'model' | 'providerModel'>;

type RouteInService = Pick<Route, 'provider' | 'model' | 'providerModel' | 'weight' | 'drained'>;

/**
 * The models that would lose their last route in service. The list of routes has no protocols, so models that keep a route on another
 * protocol are missing. The response to the drain names these too.
 */
export function modelsLeftWithout(routes: readonly RouteInService[], target: DrainTarget): string[] {
  const inService = routes.filter(({ weight, drained }) => weight > 0 && drained === null);
  const isIn = ({ provider, model, providerModel }: RouteInService): boolean =>
    provider === target.provider &&
    (target.model === null || target.model === model) &&
    (target.providerModel === null || target.providerModel === providerModel);
  const staying = new Set(inService.filter((route) => !isIn(route)).map(({ model }) => model));
  return [...new Set(inService.filter(isIn).map(({ model }) => model))].filter((model) => !staying.has(model));
}
