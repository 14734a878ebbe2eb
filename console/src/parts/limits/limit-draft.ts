import type { BodyOf } from '../../api/client.ts';
import type { OwnKey } from '../../api/types.ts';
import { isCount, isYuan } from '../../parts/number-text.ts';

/** The limits of a key, as they stand in the fields of a form: text, which is empty where there is no limit. */
export interface LimitsDraft {
  readonly amounts: { readonly [name in AmountName]: string };
  readonly counts: { readonly [name in CountName]: string };
  readonly modelLimits: readonly ModelLimitDraft[];
  readonly allowedModels: readonly string[];
  readonly allowedNetworks: readonly string[];
}

export interface ModelLimitDraft {
  readonly model: string;
  readonly requestsPerMinute: string;
  readonly tokensPerMinute: string;
}

export const AMOUNTS = ['dailySpendCapYuan', 'weeklySpendCapYuan', 'monthlySpendCapYuan', 'totalSpendCapYuan'] as const;
export const COUNTS = ['dailyCalls', 'concurrency', 'requestsPerMinute', 'tokensPerMinute'] as const;
export type AmountName = (typeof AMOUNTS)[number];
export type CountName = (typeof COUNTS)[number];

/** The limits that a key can be made with, and changed by. */
export type LimitsBody = BodyOf<'PATCH /account/v1/keys/{id}'>;

export const NO_LIMITS: LimitsDraft = {
  amounts: { dailySpendCapYuan: '', weeklySpendCapYuan: '', monthlySpendCapYuan: '', totalSpendCapYuan: '' },
  counts: { dailyCalls: '', concurrency: '', requestsPerMinute: '', tokensPerMinute: '' },
  modelLimits: [],
  allowedModels: [],
  allowedNetworks: [],
};

/** Limits by the minute are 1 at least; of the others 0 stands for "none at all". */
export function leastOf(name: CountName): number {
  return name === 'requestsPerMinute' || name === 'tokensPerMinute' ? 1 : 0;
}

export function draftOf(key: OwnKey): LimitsDraft {
  const amounts = Object.fromEntries(AMOUNTS.map((name) => [name, key[name] ?? '']));
  const counts = Object.fromEntries(COUNTS.map((name) => [name, String(key[name] ?? '')]));
  return {
    amounts: amounts as LimitsDraft['amounts'],
    counts: counts as LimitsDraft['counts'],
    modelLimits: Object.entries(key.modelLimits).map(([model, { requestsPerMinute, tokensPerMinute }]) => ({
      model,
      requestsPerMinute: String(requestsPerMinute ?? ''),
      tokensPerMinute: String(tokensPerMinute ?? ''),
    })),
    allowedModels: key.allowedModels ?? [],
    allowedNetworks: key.allowedNetworks ?? [],
  };
}

/** Whether all fields can be sent: each is empty or a number, and each model that has limits is named once. */
export function isComplete({ amounts, counts, modelLimits }: LimitsDraft): boolean {
  const models = modelLimits.map(({ model }) => model);
  return (
    AMOUNTS.every((name) => amounts[name] === '' || isYuan(amounts[name])) &&
    COUNTS.every((name) => isCountOrEmpty(counts[name], leastOf(name))) &&
    modelLimits.every(
      ({ model, requestsPerMinute, tokensPerMinute }) =>
        model !== '' && isCountOrEmpty(requestsPerMinute, 1) && isCountOrEmpty(tokensPerMinute, 1),
    ) &&
    new Set(models).size === models.length
  );
}

/** The limits that a new key has; those without a value are left out. */
export function limitsOf(draft: LimitsDraft): LimitsBody {
  return changeOf(NO_LIMITS, draft);
}

/** What differs between two drafts, as the gateway takes a change: `null` takes a limit away, what stays is left out. */
export function changeOf(before: LimitsDraft, after: LimitsDraft): LimitsBody {
  const changed: { [name: string]: string | number | readonly string[] | object | null } = {};
  for (const name of AMOUNTS) {
    if (before.amounts[name] !== after.amounts[name]) changed[name] = after.amounts[name] || null;
  }
  for (const name of COUNTS) {
    if (before.counts[name] !== after.counts[name]) changed[name] = countOrNull(after.counts[name]);
  }
  const modelLimits = changedModels(before.modelLimits, after.modelLimits);
  if (Object.keys(modelLimits).length > 0) changed.modelLimits = modelLimits;
  for (const name of ['allowedModels', 'allowedNetworks'] as const) {
    if (before[name].join('\n') !== after[name].join('\n')) changed[name] = after[name].length > 0 ? after[name] : null;
  }
  return changed;
}

function changedModels(before: readonly ModelLimitDraft[], after: readonly ModelLimitDraft[]) {
  const changed: { [model: string]: { requestsPerMinute: number | null; tokensPerMinute: number | null } | null } = {};
  for (const { model } of before) {
    if (!after.some((each) => each.model === model)) changed[model] = null;
  }
  for (const { model, requestsPerMinute, tokensPerMinute } of after) {
    const old = before.find((each) => each.model === model);
    if (old?.requestsPerMinute === requestsPerMinute && old.tokensPerMinute === tokensPerMinute) continue;
    changed[model] = {
      requestsPerMinute: countOrNull(requestsPerMinute),
      tokensPerMinute: countOrNull(tokensPerMinute),
    };
  }
  return changed;
}

function isCountOrEmpty(text: string, min: number): boolean {
  return text === '' || isCount(text, min);
}

function countOrNull(text: string): number | null {
  return text === '' ? null : Number(text);
}
