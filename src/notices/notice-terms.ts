import type { LocalTime } from '../accounting/pricing/local-time.ts';
import { runningPeriods } from '../accounting/pricing/running-periods.ts';
import type { Config } from '../config/schema.ts';
import { AddressRanges } from '../lib/ip-address.ts';
import { allRoutes, type Catalog } from '../providers/catalog/catalog.ts';
import type { LimitedSubject } from '../providers/limits/provider-limits.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { Providers } from '../providers/upstream/provider.ts';
import type { AccountTerms, NoticedPlan } from './account-facts.ts';
import type { WatchedBudget } from './budget-watch.ts';
import type { FinderTerms } from './finder.ts';
import type { MailTerms } from './mail-sender.ts';
import type { NodeStatus } from './node-watch.ts';

interface NoticeSettings {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly localTime: LocalTime;
  readonly plans: readonly (NoticedPlan & { readonly id: string })[];
}

export function accountTerms({ config, catalog, localTime, plans }: NoticeSettings, nowMs: number): AccountTerms {
  const { lowBalanceYuan, planPercents, budgetPercents } = config.notices;
  return {
    nowMs,
    periods: runningPeriods(localTime, nowMs),
    lowBalanceNano: lowBalanceYuan ?? null,
    planPercents: ascending(planPercents),
    budgetPercents: ascending(budgetPercents),
    plans: new Map(plans.map((plan) => [plan.id, plan])),
    dailyCapNano: (groupId) =>
      catalog.of(groupId).group?.limits?.dailyCapNano ?? config.billing.dailySpendCapYuan ?? null,
  };
}

export function finderTerms({ notices, retention }: Config): FinderTerms {
  return {
    routeDownAfterMs: notices.routeDownAfter,
    keptMs: retention.notices,
    budgetPercents: ascending(notices.budgetPercents),
  };
}

const ascending = (percents: readonly number[]): number[] => percents.toSorted((one, other) => one - other);

/** Returns a function for the allowed networks, which are parsed once per configuration. */
export function allowedNetworks(config: () => Config): () => AddressRanges {
  let parsedFrom: Config | null = null;
  let ranges = new AddressRanges([]);
  return () => {
    const current = config();
    if (current !== parsedFrom) ranges = new AddressRanges(current.notices.allowNetworks);
    parsedFrom = current;
    return ranges;
  };
}

/** Returns the settings for mail; `null` if no mail server is configured. */
export function mailTerms({ mail, branding }: Config): MailTerms | null {
  if (mail === undefined) return null;
  const { host, port, tls, user, password, ca } = mail.smtp;
  return {
    host,
    port,
    tls,
    user: user ?? null,
    password: password ?? null,
    from: mail.from,
    name: branding.name ?? null,
    supportAddress: branding.supportAddress ?? null,
    ...(ca !== undefined && { ca }),
  };
}

interface WatchedSettings {
  readonly catalog: Catalog;
  readonly providers: Providers;
}

interface WatchedNode {
  readonly health: RouteHealth;
  /** The node's view of the revisions of the catalog; `null`: the catalog is in the file. */
  readonly revisions: NodeStatus['catalog'] | null;
  readonly nowMs: number;
}

/** Returns the status of routes and credentials, and of the catalog. A route with weight 0 takes no calls, so its status is unknown. */
export function nodeStatus(
  { catalog, providers }: WatchedSettings,
  { health, revisions, nowMs }: WatchedNode,
): NodeStatus {
  const routes = allRoutes(catalog).filter(({ route }) => route.weight > 0);
  const credentials = new Map<string, NodeStatus['credentials'][number]>();
  for (const { route } of routes) {
    const { credentials: ofProvider } = providers.get(route.providerId);
    for (const { name, state, status } of ofProvider.status(route.providerModel, nowMs)) {
      const isRefused = state === 'refused';
      const credential = { provider: route.providerId, name, isRefused, status };
      credentials.set(JSON.stringify([route.providerId, name]), credential);
    }
  }
  return {
    routes: routes.map(({ model, route }) => {
      const { state, lastFailure } = health.status(route.id);
      return {
        id: route.id,
        model: model.id,
        provider: route.providerId,
        providerModel: route.providerModel,
        isUp: state === 'closed',
        reason: lastFailure?.reason ?? null,
      };
    }),
    credentials: [...credentials.values()],
    catalog: revisions ?? { inForce: null, failed: null },
  };
}

/** Returns the budgets of providers, routes and credentials whose costs are known. */
export function watchedBudgets(subjects: readonly LimitedSubject[]): WatchedBudget[] {
  return subjects.flatMap(({ use, credentialId: _, ...subject }) =>
    use.budgetStatus
      .filter(({ endsAtMs }) => Number.isFinite(endsAtMs))
      .map(({ kind: period, ...budget }) => ({ ...subject, ...budget, id: use.id, period })),
  );
}
