import { type Command, InvalidArgumentError } from 'commander';
import type { MemberResponse } from '../../api/members/member-keeper.ts';
import { NONE, orNull, readCount } from './minute-options.ts';

/** The options of what a key, or a member of an account by all keys, may use, and how lists show it. */

export function addOwnerLimitOptions(command: Command): Command {
  return command
    .option(...BUDGET)
    .option('--daily-spend <yuan>', 'the most it may spend in a day: the same as --budget <yuan>/day')
    .option('--daily-calls <count>', 'the most calls in a day', readCount)
    .option('--concurrency <count>', 'the most calls at the same time', readCount)
    .option('--models <names>', 'the models that it may call, separated by commas', readList);
}

/** Parses a list: names between commas, or nothing, or the word for none. */
export function readList(text: string): readonly string[] | typeof NONE {
  const names = text.split(',').map((name) => name.trim());
  if (text.trim() === '' || text === NONE) return NONE;
  if (names.includes('')) throw new InvalidArgumentError('Expected names between commas, such as a,b.');
  return names;
}

const BUDGETS = {
  day: 'dailySpendCapYuan',
  week: 'weeklySpendCapYuan',
  month: 'monthlySpendCapYuan',
  total: 'totalSpendCapYuan',
} as const;

type Budgets = { readonly [Period in (typeof BUDGETS)[keyof typeof BUDGETS]]?: string };

/** The option of budgets, which may be given several times. */
const BUDGET = [
  '--budget <yuan/period>',
  'the most it may spend in a day, a week (from Monday), a month or in all, such as 100/month or 1000/total; several may be given',
  readBudget,
] as const;

/** Parses a budget such as `100/month`, and adds it to those before. */
function readBudget(text: string, before: Budgets = {}): Budgets {
  const [, amount, period] = /^([^/]+)\/(day|week|month|total)$/.exec(text) ?? [];
  if (amount === undefined) {
    throw new InvalidArgumentError(
      `Expected an amount and a period, such as 100/month; periods: ${PERIODS.join(', ')}.`,
    );
  }
  return { ...before, [BUDGETS[period as keyof typeof BUDGETS]]: amount };
}

const PERIODS = Object.keys(BUDGETS);

/** The limits that the options set; all others stay unchanged. */
export function readOwnerLimits({ budget, dailySpend, models, dailyCalls, concurrency }: Record<string, unknown>) {
  const limits = {
    dailySpendCapYuan: dailySpend,
    dailyCalls,
    concurrency,
    allowedModels: models,
    ...(budget as Budgets | undefined),
  };
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, orNull(value)]));
}

type OwnerLimits = Pick<
  MemberResponse,
  (typeof BUDGETS)[keyof typeof BUDGETS] | 'dailyCalls' | 'concurrency' | 'allowedModels'
>;

/** One text for each limit. */
export function describeOwnerLimits(owner: OwnerLimits): string[] {
  const { dailyCalls, concurrency, allowedModels } = owner;
  return [
    ...Object.entries(BUDGETS).flatMap(([period, name]) =>
      owner[name] === null ? [] : [`¥${owner[name]} ${period === 'total' ? 'in all' : `a ${period}`}`],
    ),
    ...(dailyCalls === null ? [] : [`${dailyCalls} calls a day`]),
    ...(concurrency === null ? [] : [`${concurrency} at a time`]),
    ...(allowedModels === null ? [] : [`only ${allowedModels.join(' ')}`]),
  ];
}

const USED = {
  dailySpendCapYuan: ['dailySpendYuan', 'today'],
  weeklySpendCapYuan: ['weeklySpendYuan', 'this week'],
  monthlySpendCapYuan: ['monthlySpendYuan', 'this month'],
  totalSpendCapYuan: ['totalSpendYuan', 'in all'],
} as const;

/** What is used of each limit that there is, such as `¥3 of 5 today`. */
export function describeUse(owner: OwnerLimits & Pick<MemberResponse, 'used'>): string {
  const { used, dailyCalls } = owner;
  if (used === null) return '';
  const budgets = Object.values(BUDGETS).flatMap((cap) => {
    const [name, period] = USED[cap];
    return owner[cap] === null ? [] : [`¥${used[name]} of ${owner[cap]} ${period}`];
  });
  return [...budgets, ...(dailyCalls === null ? [] : [`${used.dailyCalls} of ${dailyCalls} calls today`])].join(', ');
}
