import type { ModelPrice } from '../../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import { maximaOf } from '../../accounting/reservations/rate-defaults.ts';
import type { GroupLimits } from '../../accounting/reservations/reservation.ts';
import type { GroupConfig } from '../../config/schema.ts';
import { compileFallbacks, type FallbackTerms } from './attempt-terms.ts';

/** What differs for the accounts of a group (`docs/operations/groups.md`). */
export interface AccountGroup {
  readonly id: string;
  readonly name: string;
  /** Whether the configuration contains the group. Accounts of a group that it does not contain may use no model. */
  readonly isConfigured: boolean;
  /** Canonical ids of the models that the group may use; `null`: every model. */
  readonly models: ReadonlySet<string> | null;
  /** Ids of the providers that the group may use; `null`: every provider. */
  readonly providers: ReadonlySet<string> | null;
  /** Price factor of the group's accounts without one of their own. */
  readonly priceFactorBasisPoints: number;
  /** Prices that replace those of the models, by canonical model id. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
  /** Limits of the group's accounts without limits of their own; `null`: the general limits apply. */
  readonly limits: GroupLimits | null;
  /** Models that serve calls of models without fallbacks of their own; `null`: none. */
  readonly fallbacks: FallbackTerms | null;
}

export function compileGroup(id: string, config: GroupConfig, prices: AccountGroup['prices']): AccountGroup {
  const { name, models, providers, priceFactorBasisPoints, limits } = config;
  const own = { ...maximaOf(limits), dailyCapNano: limits.dailySpendCapYuan ?? null };
  return {
    id,
    name,
    isConfigured: true,
    models: models === undefined ? null : new Set(models),
    providers: providers === undefined ? null : new Set(providers),
    priceFactorBasisPoints,
    prices,
    limits: Object.values(own).every((limit) => limit === null) ? null : own,
    fallbacks: compileFallbacks(config),
  };
}

/** A group that accounts refer to, but that the configuration does not contain. Without known prices, it may use no model. */
export function missingGroup(id: string): AccountGroup {
  return {
    id,
    name: id,
    isConfigured: false,
    models: new Set(),
    providers: null,
    priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
    prices: new Map(),
    limits: null,
    fallbacks: null,
  };
}

/** The price factor of accounts without one of their own. */
export function groupFactorOf(group: AccountGroup | null): number {
  return group === null ? LIST_PRICE_BASIS_POINTS : group.priceFactorBasisPoints;
}
