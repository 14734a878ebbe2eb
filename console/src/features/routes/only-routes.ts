import type { Drain, Route } from '../../api/types.ts';

/** What takes no new calls; `null`: all of them. */
export type DrainTarget = Pick<Drain, 'provider' | 'model' | 'providerModel'>;

type RouteInService = Pick<Route, 'provider' | 'model' | 'providerModel' | 'weight' | 'drained'>;

/**
 * The models that have a route in service now and none once the target is drained. A list of routes does not say their protocols, so
 * a model that keeps a route on another protocol only is not among them; the response to a drain names that one too.
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
