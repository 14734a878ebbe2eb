import { InvalidArgumentError } from 'commander';
import type { KeyResponse } from '../../api/keys/wire.ts';
import type { AccountResponse } from '../../api/management/wire.ts';
import type { MemberResponse } from '../../api/members/member-keeper.ts';
import type { Given, Options } from '../command-rows.ts';

/** The word that removes a limit, and that describes a key or a member without limits. */
export const NONE = 'none';

/** Returns the value of a limit in a request. Parsers of options cannot return `null`, which commander turns into an empty text. */
export const orNull = (value: unknown): unknown => (value === NONE ? null : value);

const BUDGETS = {
  day: 'dailySpendCapYuan',
  week: 'weeklySpendCapYuan',
  month: 'monthlySpendCapYuan',
  total: 'totalSpendCapYuan',
} as const;
const PERIODS = Object.keys(BUDGETS);
type Budgets = { readonly [Period in (typeof BUDGETS)[keyof typeof BUDGETS]]?: string | null };

/** Options for limits per minute, which accounts and keys have. */
export const RATE_OPTIONS: Options = {
  '--requests-per-minute <count>': { text: 'maximum number of requests per minute', parse: readCount },
  '--tokens-per-minute <count>': {
    text: 'maximum number of tokens per minute, input and output together',
    parse: readCount,
  },
  '--model-limit <model:limits>': {
    text: 'both limits for one model, such as acme-large:requests=10,tokens=20000, or acme-large:none; can be given several times',
    parse: readModelLimit,
  },
};

/** Options for limits of a key, or of a member with all its keys together. */
export const OWNER_LIMIT_OPTIONS: Options = {
  '--budget <yuan/period>': {
    text: 'maximum spend per day, per week (from Monday), per month or in total, such as 100/month or 1000/total; can be given several times',
    parse: readBudget,
  },
  '--model-budget <model=yuan/period>': {
    text: 'maximum spend on one model, such as acme-large=50/month, acme-large=none/month or acme-large=none; can be given several times',
    parse: readModelBudget,
  },
  '--daily-spend <yuan>': 'maximum spend per day, the same as --budget <yuan>/day',
  '--daily-calls <count>': { text: 'maximum number of calls per day', parse: readCount },
  '--concurrency <count>': { text: 'maximum number of concurrent calls', parse: readCount },
  '--models <names>': { text: 'models that may be called, separated by commas', parse: readList },
};

/** Returns members of a request body; `null` removes a limit. */
export const rateLimitsOf = ({ requestsPerMinute, tokensPerMinute, modelLimit }: Given) => ({
  requestsPerMinute: orNull(requestsPerMinute),
  tokensPerMinute: orNull(tokensPerMinute),
  modelLimits: modelLimit,
});

export const ownerLimitsOf = ({ budget, modelBudget, dailySpend, models, dailyCalls, concurrency }: Given) => ({
  dailySpendCapYuan: orNull(dailySpend),
  dailyCalls: orNull(dailyCalls),
  concurrency: orNull(concurrency),
  allowedModels: orNull(models),
  ...(budget as Budgets | undefined),
  modelBudgets: modelBudget,
});

/** Reads a list. An empty text means the same as `none`. */
export function readList(text: string): readonly string[] | typeof NONE {
  const names = text.split(',').map((name) => name.trim());
  if (text.trim() === '' || text === NONE) return NONE;
  if (names.includes('')) throw new InvalidArgumentError('Expected names between commas, such as a,b.');
  return names;
}

function readCount(text: string): number | typeof NONE {
  if (text === NONE) return NONE;
  // Number() would accept "", "1e3" and " 7", and turn "abc" into NaN, which JSON writes as null, so that the limit would be removed.
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError(`Expected a whole number such as 10, or "${NONE}".`);
  return Number(text);
}

/** Reads a budget such as `100/month`, and adds it to earlier ones. */
export function readBudget(text: string, before: Budgets = {}): Budgets {
  const [, amount, period] = /^([^/]+)\/(day|week|month|total)$/.exec(text) ?? [];
  if (amount === undefined) {
    throw new InvalidArgumentError(
      `Expected an amount and a period, such as 100/month; periods: ${PERIODS.join(', ')}.`,
    );
  }
  return { ...before, [BUDGETS[period as keyof typeof BUDGETS]]: orNull(amount) };
}

type ModelBudgets = Readonly<Record<string, Budgets | null>>;

/** Reads a budget for a model, and adds it to earlier ones. The name of a model may contain slashes. */
function readModelBudget(text: string, before: ModelBudgets = {}): ModelBudgets {
  const [, model, budget] = /^(.+)=([^=]+)$/.exec(text) ?? [];
  if (model === undefined || budget === undefined) {
    throw new InvalidArgumentError('Expected a model and its budget, such as acme-large=50/month or acme-large=none.');
  }
  return { ...before, [model]: budget === NONE ? null : readBudget(budget, before[model] ?? {}) };
}

type ModelLimits = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;

/** Reads the limits of a model, and adds them to earlier ones. The name of a model may contain colons. */
function readModelLimit(text: string, before: ModelLimits = {}): ModelLimits {
  const [, model, limits] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (model === undefined || limits === undefined) throw new InvalidArgumentError(EXPECTED_MODEL);
  if (limits === NONE) return { ...before, [model]: null };
  const own = limits.split(',').map((limit) => {
    const [, name, count] = /^(requests|tokens)=(.*)$/.exec(limit) ?? [];
    if (name === undefined) throw new InvalidArgumentError(EXPECTED_MODEL);
    return [`${name}PerMinute`, orNull(readCount(count!))] as const;
  });
  return { ...before, [model]: { ...before[model], ...Object.fromEntries(own) } };
}

const EXPECTED_MODEL =
  'Expected a model and its limits, such as acme-large:requests=10,tokens=20000 or acme-large:none.';

type RateMaxima = Pick<AccountResponse, 'requestsPerMinute' | 'tokensPerMinute'>;

/** Describes limits, as in `60 requests a minute`, `10 requests a minute for acme-large`. */
export function describeRateLimits(limits: RateMaxima & Pick<AccountResponse, 'modelLimits'>): string[] {
  return [
    ...describeMaxima(limits),
    ...Object.entries(limits.modelLimits).flatMap(([model, own]) =>
      describeMaxima(own).map((text) => `${text} for ${model}`),
    ),
  ];
}

function describeMaxima({ requestsPerMinute, tokensPerMinute }: RateMaxima): string[] {
  return [
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests a minute`]),
    ...(tokensPerMinute === null ? [] : [`${tokensPerMinute} tokens a minute`]),
  ];
}

type OwnerLimits = Pick<
  MemberResponse,
  keyof Budgets | 'modelBudgets' | 'dailyCalls' | 'concurrency' | 'allowedModels'
>;

/** Describes limits, as in `¥5 a day`, `3 at a time`. */
export function describeOwnerLimits(owner: OwnerLimits): string[] {
  const { modelBudgets, dailyCalls, concurrency, allowedModels } = owner;
  return [
    ...describeBudgets(owner),
    ...Object.entries(modelBudgets).flatMap(([model, own]) =>
      describeBudgets(own).map((text) => `${text} for ${model}`),
    ),
    ...(dailyCalls === null ? [] : [`${dailyCalls} calls a day`]),
    ...(concurrency === null ? [] : [`${concurrency} at a time`]),
    ...(allowedModels === null ? [] : [`only ${allowedModels.join(' ')}`]),
  ];
}

export function describeBudgets(caps: Required<Budgets>): string[] {
  return Object.entries(BUDGETS).flatMap(([period, name]) =>
    caps[name] === null ? [] : [`¥${caps[name]} ${period === 'total' ? 'in all' : `a ${period}`}`],
  );
}

export function describeKeyLimits(key: Omit<KeyResponse, 'used' | 'usedByModel'>): string {
  const networks = key.allowedNetworks === null ? [] : [`only from ${key.allowedNetworks.join(' ')}`];
  return [...describeOwnerLimits(key), ...describeRateLimits(key), ...networks].join(', ') || NONE;
}

const USED = {
  dailySpendCapYuan: ['dailySpendYuan', 'today'],
  weeklySpendCapYuan: ['weeklySpendYuan', 'this week'],
  monthlySpendCapYuan: ['monthlySpendYuan', 'this month'],
  totalSpendCapYuan: ['totalSpendYuan', 'in all'],
} as const;

/** Describes the use of limits, as in `¥3 of 5 today`. */
export function describeUse(owner: OwnerLimits & Pick<MemberResponse, 'used' | 'usedByModel'>): string {
  const { used, usedByModel, modelBudgets, dailyCalls } = owner;
  const ofModels = Object.entries(modelBudgets).flatMap(([model, caps]) => {
    const own = usedByModel[model];
    return own === undefined ? [] : describeSpent(caps, own).map((text) => `${text} for ${model}`);
  });
  if (used === null) return ofModels.join(', ');
  const calls = dailyCalls === null ? [] : [`${used.dailyCalls} of ${dailyCalls} calls today`];
  return [...describeSpent(owner, used), ...ofModels, ...calls].join(', ');
}

export function describeSpent(caps: Required<Budgets>, used: MemberResponse['usedByModel'][string]): string[] {
  return Object.values(BUDGETS).flatMap((cap) => {
    const [name, period] = USED[cap];
    return caps[cap] === null ? [] : [`¥${used[name]} of ${caps[cap]} ${period}`];
  });
}
