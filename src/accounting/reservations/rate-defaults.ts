import type { Config } from '../../config/schema.ts';

/** What may be used in a minute; `null`: not limited. */
export interface RateMaxima {
  readonly requestsMax: number | null;
  readonly tokensMax: number | null;
}

/**
 * The limits of a model of an account or a key: those that stand under its id, and where that has none, those under other names of it.
 * A model that was renamed keeps its limits so, since its old id is an alias; one that took the place of several has the lowest of
 * theirs.
 */
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

/** What each account may use in a minute if it has no limits of its own; `null`: not limited. */
export interface RateDefaults {
  readonly all: RateMaxima;
  /** By the canonical ids of models. */
  readonly models: ReadonlyMap<string, RateMaxima>;
}

/** The limits by the minute of all accounts; `null` if the configuration has none. */
export function compileRateDefaults({ limits }: Pick<Config, 'limits'>): RateDefaults | null {
  const all = maximaOf(limits);
  const models = new Map(Object.entries(limits.models).map(([model, own]) => [model, maximaOf(own)]));
  const areNone = all.requestsMax === null && all.tokensMax === null && models.size === 0;
  return areNone ? null : { all, models };
}

type MinuteLimits = Pick<Config['limits'], 'requestsPerMinute' | 'tokensPerMinute'>;

function maximaOf({ requestsPerMinute, tokensPerMinute }: MinuteLimits): RateMaxima {
  return { requestsMax: requestsPerMinute ?? null, tokensMax: tokensPerMinute ?? null };
}
