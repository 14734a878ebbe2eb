import type { BodyOf } from '../../api/client.ts';
import type { Key, OwnKey } from '../../api/types.ts';
import { changedMembers } from '../forms/changed-members.ts';
import { countOrNull, isCount, isYuan, textOrNull } from '../forms/number-text.ts';

/** Rate limits per minute as form input; empty for no limit. */
export type RatePair = { readonly [name in (typeof RATES)[number]]: string };

export interface RatesDraft extends RatePair {
  readonly modelLimits: readonly ModelLimitDraft[];
}

export interface ModelLimitDraft extends RatePair {
  readonly model: string;
}

export interface LimitsDraft {
  readonly amounts: { readonly [name in AmountName]: string };
  readonly counts: { readonly [name in CountName]: string };
  readonly rates: RatesDraft;
  readonly allowedModels: readonly string[];
  readonly allowedNetworks: readonly string[];
}

export const AMOUNTS = ['dailySpendCapYuan', 'weeklySpendCapYuan', 'monthlySpendCapYuan', 'totalSpendCapYuan'] as const;
export const COUNTS = ['dailyCalls', 'concurrency'] as const;
export const RATES = ['requestsPerMinute', 'tokensPerMinute'] as const;
/** The usage member that counts against each limit. */
export const USED = {
  dailySpendCapYuan: 'dailySpendYuan',
  weeklySpendCapYuan: 'weeklySpendYuan',
  monthlySpendCapYuan: 'monthlySpendYuan',
  totalSpendCapYuan: 'totalSpendYuan',
  dailyCalls: 'dailyCalls',
  concurrency: null,
} as const satisfies { readonly [name in AmountName | CountName]: keyof NonNullable<Key['used']> | null };
type AmountName = (typeof AMOUNTS)[number];
type CountName = (typeof COUNTS)[number];

type Rates = Pick<OwnKey, (typeof RATES)[number] | 'modelLimits'>;
export type Limits = Pick<OwnKey, AmountName | CountName | 'allowedModels' | 'allowedNetworks'> & Rates;

export type LimitsBody = BodyOf<'PATCH /account/v1/keys/{id}'>;
export type RatesBody = Pick<LimitsBody, (typeof RATES)[number] | 'modelLimits'>;

export const NO_LIMITS: LimitsDraft = {
  amounts: { dailySpendCapYuan: '', weeklySpendCapYuan: '', monthlySpendCapYuan: '', totalSpendCapYuan: '' },
  counts: { dailyCalls: '', concurrency: '' },
  rates: { requestsPerMinute: '', tokensPerMinute: '', modelLimits: [] },
  allowedModels: [],
  allowedNetworks: [],
};

export function draftOf(key: Limits): LimitsDraft {
  const amounts = Object.fromEntries(AMOUNTS.map((name) => [name, key[name] ?? '']));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, String(key[name] ?? '')]));
  return {
    amounts: amounts as LimitsDraft['amounts'],
    counts: counts as LimitsDraft['counts'],
    rates: ratesDraftOf(key),
    allowedModels: key.allowedModels ?? [],
    allowedNetworks: key.allowedNetworks ?? [],
  };
}

export function ratesDraftOf({ requestsPerMinute, tokensPerMinute, modelLimits }: Rates): RatesDraft {
  return {
    requestsPerMinute: String(requestsPerMinute ?? ''),
    tokensPerMinute: String(tokensPerMinute ?? ''),
    modelLimits: Object.entries(modelLimits).map(([model, own]) => ({
      model,
      requestsPerMinute: String(own.requestsPerMinute ?? ''),
      tokensPerMinute: String(own.tokensPerMinute ?? ''),
    })),
  };
}

/** Whether every field is empty or a number, and every model limit names a different model. */
export function isComplete({ amounts, counts, rates }: LimitsDraft): boolean {
  return (
    AMOUNTS.every((name) => amounts[name] === '' || isYuan(amounts[name])) &&
    // 0 forbids all calls.
    COUNTS.every((name) => isCountOrEmpty(counts[name], 0)) &&
    areRatesComplete(rates)
  );
}

export function areRatesComplete({ modelLimits, ...ofAll }: RatesDraft): boolean {
  const models = modelLimits.map(({ model }) => model.trim());
  return (
    [ofAll, ...modelLimits].every((limits) => RATES.every((name) => isCountOrEmpty(limits[name], 1))) &&
    models.every((model) => model !== '') &&
    new Set(models).size === models.length
  );
}

/** Limits of a new key, without empty ones. */
export function limitsOf(draft: LimitsDraft): LimitsBody {
  return changeOf(NO_LIMITS, draft);
}

/** The difference of two drafts as a change: `null` removes a limit, unchanged limits are left out. */
export function changeOf(before: LimitsDraft, after: LimitsDraft): LimitsBody {
  return { ...changedMembers(bodyOf(before), bodyOf(after)), ...changeOfRates(before.rates, after.rates) };
}

function bodyOf({ amounts, counts, allowedModels, allowedNetworks }: LimitsDraft): LimitsBody {
  return {
    ...Object.fromEntries(AMOUNTS.map((name) => [name, textOrNull(amounts[name])])),
    ...Object.fromEntries(COUNTS.map((name) => [name, countOrNull(counts[name])])),
    allowedModels: allowedModels.length === 0 ? null : allowedModels,
    allowedNetworks: allowedNetworks.length === 0 ? null : allowedNetworks,
  };
}

/** As `changeOf`. `null` removes the limits of a model; only models with changed limits are included. */
export function changeOfRates(before: RatesDraft, after: RatesDraft): RatesBody {
  const stored = limitsByModel(before);
  const removed = Object.fromEntries(Object.keys(stored).map((model) => [model, null]));
  const modelLimits = changedMembers(stored, { ...removed, ...limitsByModel(after) }) as ModelLimits;
  return {
    ...changedMembers(limitsOfAll(before), limitsOfAll(after)),
    ...(Object.keys(modelLimits).length === 0 ? {} : { modelLimits }),
  };
}

type ModelLimits = NonNullable<LimitsBody['modelLimits']>;

function limitsOfAll(draft: RatePair) {
  return {
    requestsPerMinute: countOrNull(draft.requestsPerMinute),
    tokensPerMinute: countOrNull(draft.tokensPerMinute),
  };
}

function limitsByModel({ modelLimits }: RatesDraft): ModelLimits {
  return Object.fromEntries(modelLimits.map((own) => [own.model.trim(), limitsOfAll(own)]));
}

function isCountOrEmpty(text: string, min: number): boolean {
  return text === '' || isCount(text, min);
}
