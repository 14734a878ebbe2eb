import { credentialsOf } from '../../config/provider-credentials.ts';
import type { Config } from '../../config/schema.ts';
import type { UseLimitsConfig } from '../../config/use-limits-schema.ts';
import { type CountedCall, LimitedUse } from './limited-use.ts';

/**
 * Limits that operators set for providers, routes and credentials. They are kept across configurations, with what was used
 * (`docs/routing.md`, "Limits of providers").
 */

/** What a limit applies to. Members that do not identify it are `null`. */
export interface LimitedSubject {
  readonly of: 'provider' | 'route' | 'credential';
  readonly provider: string;
  readonly model: string | null;
  readonly providerModel: string | null;
  readonly credential: string | null;
  /** Identifies the credential in call records, independent of its position; empty for others. */
  readonly credentialId: string;
  readonly use: LimitedUse;
}

/** The credentials of a provider, as far as limits need them. */
interface UsableCredentials {
  /** Names of the credentials that calls would use if there were no limits. */
  usableNames(nowMs: number): readonly string[];
}

/** Limits of the calls over one route. */
export class RouteLimits {
  /** Limits of the provider and of the route. */
  readonly #uses: readonly LimitedUse[];
  /** Limits of credentials by name. Credentials without limits are not in it. */
  readonly credentials: ReadonlyMap<string, LimitedUse>;

  constructor(uses: readonly LimitedUse[], credentials: ReadonlyMap<string, LimitedUse>) {
    this.#uses = uses;
    this.credentials = credentials;
  }

  /** Returns until when no call may be sent over the route; `null`: one may be sent now. */
  usedUpUntilMs(credentials: UsableCredentials, nowMs: number): number | null {
    let freeAtMs = nowMs;
    for (const use of this.#uses) freeAtMs = Math.max(freeAtMs, use.freeAtMs(nowMs));
    if (this.credentials.size > 0) freeAtMs = Math.max(freeAtMs, this.#credentialFreeAtMs(credentials, nowMs));
    return freeAtMs > nowMs ? freeAtMs : null;
  }

  #credentialFreeAtMs(credentials: UsableCredentials, nowMs: number): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const name of credentials.usableNames(nowMs)) {
      firstMs = Math.min(firstMs, this.credentials.get(name)?.freeAtMs(nowMs) ?? nowMs);
    }
    return firstMs === Number.POSITIVE_INFINITY ? nowMs : firstMs;
  }

  /** Counts a call that begins for the provider and the route. */
  begin(tokens: number, nowMs: number): CountedCall[] {
    return this.#uses.map((use) => use.begin(tokens, nowMs));
  }
}

export class ProviderLimits {
  readonly subjects: readonly LimitedSubject[];
  readonly #ofRoute: ReadonlyMap<string, RouteLimits>;

  constructor(subjects: readonly LimitedSubject[], ofRoute: ReadonlyMap<string, RouteLimits>) {
    this.subjects = subjects;
    this.#ofRoute = ofRoute;
  }

  /** @param routeId `Route.id` */
  ofRoute(routeId: string): RouteLimits | null {
    return this.#ofRoute.get(routeId) ?? null;
  }
}

type LimitedConfig = Pick<Config, 'providers' | 'models'>;

/** Collects the limits of a configuration; `null`: it has none. */
export function createProviderLimits(
  { providers, models }: LimitedConfig,
  previous: ProviderLimits | null = null,
): ProviderLimits | null {
  const before = new Map(previous?.subjects.map(({ use }) => [use.id, use]));
  const byId = new Map<string, LimitedUse>();
  const subjects: LimitedSubject[] = [];
  const limited = (
    subject: Omit<LimitedSubject, 'use' | 'credentialId'> & { readonly credentialId?: string },
    limits: UseLimitsConfig | undefined,
  ): LimitedUse | null => {
    if (limits === undefined || Object.values(limits).every((limit) => limit === undefined)) return null;
    const { of, provider, model, providerModel, credentialId = '' } = subject;
    const id = [of, provider, ...[model, providerModel].filter((name) => name !== null), credentialId].join(' ').trim();
    // A list may name a credential or a route twice. The first one counts.
    const first = byId.get(id);
    if (first !== undefined) return first;
    const use = before.get(id) ?? new LimitedUse(id, limits, of === 'credential' ? credentialId : null);
    use.change(limits);
    byId.set(id, use);
    subjects.push({ ...subject, credentialId, use });
    return use;
  };
  const nothing = { model: null, providerModel: null, credential: null };
  const ofProviders = new Map(
    Object.entries(providers).map(([provider, config]) => {
      const use = limited({ of: 'provider', provider, ...nothing }, config.limits);
      const credentials = credentialsOf(config);
      const uses = credentials.flatMap(({ name: credential, limited: own }) => {
        const subject = { of: 'credential', provider, ...nothing, credential, credentialId: own?.id ?? '' } as const;
        const found = limited(subject, own?.limits);
        return found === null ? [] : [[credential, found] as const];
      });
      return [provider, { use, credentials: new Map(uses) }] as const;
    }),
  );
  const ofRoute = new Map<string, RouteLimits>();
  for (const [model, { routes }] of Object.entries(models)) {
    for (const { provider, model: providerModel, limits } of routes) {
      const ofProvider = ofProviders.get(provider)!;
      const own = limited({ of: 'route', provider, model, providerModel, credential: null }, limits);
      const uses = [ofProvider.use, own].filter((use) => use !== null);
      if (uses.length === 0 && ofProvider.credentials.size === 0) continue;
      const routeId = `${model} ${provider} ${providerModel}`;
      if (own !== null || !ofRoute.has(routeId)) ofRoute.set(routeId, new RouteLimits(uses, ofProvider.credentials));
    }
  }
  return subjects.length === 0 ? null : new ProviderLimits(subjects, ofRoute);
}
