import type { Config } from '../../config/schema.ts';

/** Per minute; `null`: unlimited. */
export interface RateMaxima {
  readonly requestsMax: number | null;
  readonly tokensMax: number | null;
}

/** The lowest limits of a model and its aliases: a renamed model, whose old id is an alias, keeps its limits. */
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

/** For accounts without limits of their own; `null`: unlimited. */
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

/** The limits for all models together of an account without limits of its own. Those of its group replace the general ones. */
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
