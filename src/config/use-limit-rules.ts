import { isRecord } from '../lib/json/json.ts';
import type { Path } from './document.ts';
import type { RuleBreach } from './rule-values.ts';

interface LimitedRoute {
  readonly model: string;
  readonly index: number;
  readonly provider: unknown;
  readonly limits: unknown;
  readonly hasCost: boolean;
}

const BUDGETS = ['dailyCostYuan', 'monthlyCostYuan'] as const;

/** Checks that costs are known where they are limited: each route concerned has its `cost`. */
export function useLimitBreaches(
  providers: readonly (readonly [id: string, provider: unknown])[],
  routes: readonly LimitedRoute[],
): RuleBreach[] {
  const ofProviders = providers.flatMap(([id, provider]) =>
    budgetsOf(provider, ['providers', id]).flatMap((path): RuleBreach[] => {
      const without = routes.find((route) => route.provider === id && !route.hasCost);
      if (without === undefined) return [];
      const { model, index } = without;
      return [
        {
          path,
          message: `This key requires "cost" at every route to ${id}. It is missing at models.${model}.routes[${index}].`,
        },
      ];
    }),
  );
  const ofRoutes = routes
    .filter(({ hasCost }) => !hasCost)
    .flatMap(({ model, index, limits }) =>
      budgetsIn(limits, ['models', model, 'routes', index, 'limits']).map((path) => ({
        path,
        message: 'This key requires "cost" at the same route.',
      })),
    );
  return [...ofProviders, ...ofRoutes];
}

function budgetsOf(provider: unknown, root: Path): Path[] {
  if (!isRecord(provider)) return [];
  const { apiKey, apiKeys, limits } = provider;
  const listed = Array.isArray(apiKeys) ? apiKeys : [];
  const ofCredential = (credential: unknown, ...place: Path): Path[] =>
    isRecord(credential) ? budgetsIn(credential.limits, [...root, ...place, 'limits']) : [];
  return [
    ...budgetsIn(limits, [...root, 'limits']),
    ...ofCredential(apiKey, 'apiKey'),
    ...listed.flatMap((credential, index) => ofCredential(credential, 'apiKeys', index)),
  ];
}

function budgetsIn(limits: unknown, path: Path): Path[] {
  return isRecord(limits) ? BUDGETS.filter((name) => limits[name] !== undefined).map((name) => [...path, name]) : [];
}
