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

/** Budgets as form input; empty for no limit. */
export type Amounts = { readonly [name in AmountName]: string };

export interface ModelBudgetDraft {
  readonly model: string;
  readonly amounts: Amounts;
}

export interface LimitsDraft {
  readonly amounts: Amounts;
  readonly modelBudgets: readonly ModelBudgetDraft[];
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
export type Limits = Pick<OwnKey, AmountName | CountName | 'modelBudgets' | 'allowedModels' | 'allowedNetworks'> &
  Rates;

export type LimitsBody = BodyOf<'PATCH /account/v1/keys/{id}'>;
export type RatesBody = Pick<LimitsBody, (typeof RATES)[number] | 'modelLimits'>;

export const NO_AMOUNTS: Amounts = {
  dailySpendCapYuan: '',
  weeklySpendCapYuan: '',
  monthlySpendCapYuan: '',
  totalSpendCapYuan: '',
};

export const NO_LIMITS: LimitsDraft = {
  amounts: NO_AMOUNTS,
  modelBudgets: [],
  counts: { dailyCalls: '', concurrency: '' },
  rates: { requestsPerMinute: '', tokensPerMinute: '', modelLimits: [] },
  allowedModels: [],
  allowedNetworks: [],
};

export function draftOf(key: Limits): LimitsDraft {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, String(key[name] ?? '')]));
  return {
    amounts: amountsOf(key),
    modelBudgets: Object.entries(key.modelBudgets).map(([model, caps]) => ({ model, amounts: amountsOf(caps) })),
    counts: counts as LimitsDraft['counts'],
    rates: ratesDraftOf(key),
    allowedModels: key.allowedModels ?? [],
    allowedNetworks: key.allowedNetworks ?? [],
  };
}

function amountsOf(caps: { readonly [name in AmountName]: string | null }): Amounts {
  return Object.fromEntries(AMOUNTS.map((name) => [name, caps[name] ?? ''])) as Amounts;
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

/** Whether every field is empty or a number, and every model limit and every model budget names a different model. */
export function isComplete({ amounts, modelBudgets, counts, rates }: LimitsDraft): boolean {
  const allAmounts = [amounts, ...modelBudgets.map((budget) => budget.amounts)];
  return (
    allAmounts.every((each) => AMOUNTS.every((name) => each[name] === '' || isYuan(each[name]))) &&
    areModelsChosen(modelBudgets) &&
    // 0 forbids all calls.
    COUNTS.every((name) => isCountOrEmpty(counts[name], 0)) &&
    areRatesComplete(rates)
  );
}

export function areRatesComplete({ modelLimits, ...ofAll }: RatesDraft): boolean {
  return (
    [ofAll, ...modelLimits].every((limits) => RATES.every((name) => isCountOrEmpty(limits[name], 1))) &&
    areModelsChosen(modelLimits)
  );
}

function areModelsChosen(rows: readonly { readonly model: string }[]): boolean {
  const models = rows.map(({ model }) => model.trim());
  return models.every((model) => model !== '') && new Set(models).size === models.length;
}

/** Limits of a new key, without empty ones. */
export function limitsOf(draft: LimitsDraft): LimitsBody {
  return changeOf(NO_LIMITS, draft);
}

/** The difference of two drafts as a change: `null` removes a limit, unchanged limits are left out. */
export function changeOf(before: LimitsDraft, after: LimitsDraft): LimitsBody {
  const modelBudgets = changeByModel(budgetsByModel(before), budgetsByModel(after));
  return {
    ...changedMembers(bodyOf(before), bodyOf(after)),
    ...(modelBudgets && { modelBudgets }),
    ...changeOfRates(before.rates, after.rates),
  };
}

function bodyOf({ amounts, counts, allowedModels, allowedNetworks }: LimitsDraft): LimitsBody {
  return {
    ...capsOf(amounts),
    ...Object.fromEntries(COUNTS.map((name) => [name, countOrNull(counts[name])])),
    allowedModels: allowedModels.length === 0 ? null : allowedModels,
    allowedNetworks: allowedNetworks.length === 0 ? null : allowedNetworks,
  };
}

function capsOf(amounts: Amounts): ModelCaps {
  return Object.fromEntries(AMOUNTS.map((name) => [name, textOrNull(amounts[name])]));
}

type ModelCaps = NonNullable<NonNullable<LimitsBody['modelBudgets']>[string]>;

function budgetsByModel({ modelBudgets }: LimitsDraft): Readonly<Record<string, ModelCaps>> {
  return Object.fromEntries(modelBudgets.map(({ model, amounts }) => [model.trim(), capsOf(amounts)]));
}

/** The models whose limits have changed; `null` for a model removes its limits. Returns `null` if there are none. */
function changeByModel<Limits>(
  before: Readonly<Record<string, Limits>>,
  after: Readonly<Record<string, Limits>>,
): Record<string, Limits | null> | null {
  const removed = Object.fromEntries(Object.keys(before).map((model) => [model, null]));
  const next: Record<string, Limits | null> = { ...removed, ...after };
  const changed = changedMembers<Record<string, Limits | null>>(before, next) as Record<string, Limits | null>;
  return Object.keys(changed).length === 0 ? null : changed;
}

/** As `changeOf`. `null` removes the limits of a model; only models with changed limits are included. */
export function changeOfRates(before: RatesDraft, after: RatesDraft): RatesBody {
  const modelLimits = changeByModel(limitsByModel(before), limitsByModel(after));
  return {
    ...changedMembers(limitsOfAll(before), limitsOfAll(after)),
    ...(modelLimits && { modelLimits }),
  };
}

function limitsOfAll(draft: RatePair) {
  return {
    requestsPerMinute: countOrNull(draft.requestsPerMinute),
    tokensPerMinute: countOrNull(draft.tokensPerMinute),
  };
}

function limitsByModel({ modelLimits }: RatesDraft) {
  return Object.fromEntries(modelLimits.map((own) => [own.model.trim(), limitsOfAll(own)]));
}

function isCountOrEmpty(text: string, min: number): boolean {
  return text === '' || isCount(text, min);
}
