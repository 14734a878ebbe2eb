import { z } from 'zod';
import {
  type MaximaChange,
  RATE_LIMITED_MODELS_MAX,
  type RateLimitChange,
  type RateLimits,
  type RateMaxima,
} from '../../accounting/accounts/rate-limit-store.ts';
import { maximaOfNames } from '../../accounting/reservations/rate-defaults.ts';
import { didYouMean } from '../../config/suggest.ts';
import { invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { filterText, wholeNumber } from '../management/wire.ts';

const TOO_MANY = `At most ${RATE_LIMITED_MODELS_MAX} models may have limits of their own.`;
const COUNT_MAX = 1_000_000_000;
const perMinute = wholeNumber(1, COUNT_MAX, `Expected a whole number from 1 to ${COUNT_MAX}, or null for no limit.`);

const ofModel = z.strictObject({ requestsPerMinute: perMinute.nullish(), tokensPerMinute: perMinute.nullish() });

/** Limits per minute in a request. `null` removes a limit, for a model both of its limits; an absent field leaves it unchanged. */
export const rateLimitFields = {
  requestsPerMinute: perMinute.nullish(),
  tokensPerMinute: perMinute.nullish(),
  modelLimits: z
    .record(filterText, ofModel.nullable())
    .refine((models) => Object.keys(models).length <= RATE_LIMITED_MODELS_MAX, TOO_MANY)
    .optional(),
};

type RateLimitBody = z.infer<z.ZodObject<typeof rateLimitFields>>;

export const tooManyModels = () => invalidRequest(`modelLimits: ${TOO_MANY}`, 'modelLimits');

/** Converts a body to a change, by canonical model ids; `undefined` if it has no limit. */
export function toRateChange(body: RateLimitBody, catalog: Catalog): RateLimitChange | undefined {
  const { requestsPerMinute: requestsMax, tokensPerMinute: tokensMax, modelLimits = {} } = body;
  const models = new Map<string, MaximaChange>();
  for (const [name, own] of Object.entries(modelLimits)) {
    const change = own === null ? NONE : { requestsMax: own.requestsPerMinute, tokensMax: own.tokensPerMinute };
    const model = catalog.find(name);
    if (model === null && (change.requestsMax || change.tokensMax)) {
      const ids = catalog.models.map(({ id }) => id);
      throw invalidRequest(`modelLimits: There is no model "${quoted(name)}".${didYouMean(name, ids)}`, 'modelLimits');
    }
    models.set(model?.id ?? name, change);
    // Limits under earlier names of a renamed model are replaced, too.
    for (const alias of model?.aliases ?? []) {
      models.set(alias, {
        requestsMax: change.requestsMax === undefined ? undefined : null,
        tokensMax: change.tokensMax === undefined ? undefined : null,
      });
    }
  }
  const isNone = requestsMax === undefined && tokensMax === undefined && models.size === 0;
  return isNone ? undefined : { requestsMax, tokensMax, models };
}

const NONE: RateMaxima = { requestsMax: null, tokensMax: null };

/** Returns limits by present model ids. Those of a renamed model are stored under its old id. */
export function underPresentNames(limits: RateLimits, catalog: Pick<Catalog, 'find'>): RateLimits {
  const namesOf = Map.groupBy(limits.models.keys(), (name) => catalog.find(name)?.id ?? name);
  const models = [...namesOf].map(([id, names]) => {
    const others = names.filter((name) => name !== id).map((name) => limits.models.get(name)!);
    return [id, maximaOfNames(limits.models.get(id), others)] as const;
  });
  return { ...limits, models: new Map(models) };
}
