import type { Config } from '../../config/schema.ts';

/** Limits per minute; `null`: unlimited. */
export interface RateMaxima {
  readonly requestsMax: number | null;
  readonly tokensMax: number | null;
}

/** Returns the lowest limits among a model and its aliases. A renamed model has its old id as an alias and so keeps its limits. */
export function maximaOfNames(own: RateMaxima | undefined, others: readonly RateMaxima[]): RateMaxima {
  return {
    requestsMax: own?.requestsMax ?? lowest(others.map(({ requestsMax }) => requestsMax)),
    tokensMax: own?.tokensMax ?? lowest(others.map(({ tokensMax }) => tokensMax)),
  };
}

function lowest(maxima: readonly (number | null)[]): number | null {
  const set = maxima.filter((max) => max !== null);
  return set.length === 0 ? null : Math.min(...set);
}

/** Limits of accounts without limits of their own; `null`: unlimited. */
export interface RateDefaults {
  readonly all: RateMaxima;
  readonly models: ReadonlyMap<string, RateMaxima>;
}

export function compileRateDefaults({ limits }: Pick<Config, 'limits'>): RateDefaults | null {
  const all = maximaOf(limits);
  const models = new Map(Object.entries(limits.models).map(([model, own]) => [model, maximaOf(own)]));
  const areNone = all.requestsMax === null && all.tokensMax === null && models.size === 0;
  return areNone ? null : { all, models };
}

/** Limits for all models together of an account without limits of its own: those of its group, or else the general ones. */
export function usualMaxima(ofGroup: RateMaxima | null, defaults: RateDefaults | null): RateMaxima | undefined {
  if (ofGroup === null) return defaults?.all;
  return {
    requestsMax: ofGroup.requestsMax ?? defaults?.all.requestsMax ?? null,
    tokensMax: ofGroup.tokensMax ?? defaults?.all.tokensMax ?? null,
  };
}

type MinuteLimits = Pick<Config['limits'], 'requestsPerMinute' | 'tokensPerMinute'>;

export function maximaOf({ requestsPerMinute, tokensPerMinute }: MinuteLimits): RateMaxima {
  return { requestsMax: requestsPerMinute ?? null, tokensMax: tokensPerMinute ?? null };
}
