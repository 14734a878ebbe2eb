import type { Config } from '../config/schema.ts';
import { formatYuan } from '../lib/yuan.ts';
import { allRoutes, type Catalog } from '../providers/catalog/catalog.ts';
import type { LimitedSubject } from '../providers/limits/provider-limits.ts';
import type { Providers } from '../providers/upstream/provider.ts';
import type { ProviderLimitFigures, VendorLimitFigures } from '../telemetry/node-figures.ts';

const BUDGETS = { day: 'dailyCostYuan', month: 'monthlyCostYuan' } as const;

/** Returns what is used of each limit of a provider, a route or a credential. */
export function limitFigures(subjects: readonly LimitedSubject[], nowMs: number): ProviderLimitFigures[] {
  return subjects.flatMap((subject) => {
    const { of, provider, use } = subject;
    const figure = (limit: string, used: number, max: number): ProviderLimitFigures => ({
      ...{ provider, of, name: nameOf(subject), limit, used, max },
    });
    return [
      ...use.limitStatus(nowMs).map(({ kind, used, max }) => figure(kind, used, max)),
      ...use.budgetStatus.map(({ kind, usedNano, maxNano }) =>
        figure(BUDGETS[kind], Number(formatYuan(usedNano)), Number(formatYuan(maxNano))),
      ),
    ];
  });
}

function nameOf({ of, provider, model, providerModel, credential }: LimitedSubject): string {
  if (of === 'route') return `${model}/${providerModel}`;
  return of === 'credential' ? credential! : provider;
}

interface FollowingProviders {
  readonly config: Pick<Config, 'providers'>;
  readonly catalog: Catalog;
  readonly providers: Providers;
}

/** Returns what vendors say is left, for the models of routes. Routes of several models can have the same one. */
export function vendorLimitFigures(
  { config, catalog, providers }: FollowingProviders,
  nowMs: number,
): VendorLimitFigures[] {
  const following = allRoutes(catalog)
    .map(({ route }) => route)
    .filter(({ providerId }) => config.providers[providerId]?.vendorLimits === 'follow');
  const models = new Map(following.map((route) => [`${route.providerId} ${route.providerModel}`, route]));
  return [...models.values()].flatMap(({ providerId: provider, providerModel }) =>
    providers
      .get(provider)
      .credentials.status(providerModel, nowMs)
      .flatMap(({ name: credential, vendorLimits }) =>
        vendorLimits.map(({ of: limit, remaining }) => ({ provider, credential, providerModel, limit, remaining })),
      ),
  );
}
