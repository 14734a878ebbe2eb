import { InvalidArgumentError } from 'commander';
import type { CallerBudget } from '../../api/budgets/caller-keeper.ts';
import { UsageError } from '../command.ts';
import { type Given, group } from '../command-rows.ts';
import { renderTable } from '../table.ts';
import { describeBudgets, describeSpent, NONE, readBudget } from './limit-options.ts';

const EMPTY =
  'There are no such budgets. Set one: faregate account budget set <account> --every end-user --budget 5/day';
const KINDS = { 'end-user': 'endUser', tag: 'tag' } as const;

export const budgetCommands = group('budget', 'list and set budgets of end users and tags of an account', {
  'list <account>': {
    about: 'list the budgets, and the values that have spent most this month under a default budget',
    async reads(admin, output, { accountId }) {
      const path = `/accounts/${accountId}/caller-budgets`;
      const { data } = await admin.request<{ data: CallerBudget[] }>('GET', path);
      output.print(data, () =>
        renderTable(data, EMPTY, [
          { title: 'of', cell: nameOf },
          { title: 'budget', cell: describeCaps },
          { title: 'set', cell: ({ isOwn }: CallerBudget) => (isOwn ? 'yes' : 'by default') },
          { title: 'used', cell: describeUse },
        ]),
      );
    },
  },
  'set <account>': {
    about: 'set the budget of an end user or a tag, or the default budget of all; "none" removes a budget',
    with: {
      '--end-user <name>': 'the end user whom calls name',
      '--tag <tag>': 'a tag of calls',
      '--every <kind>': {
        text: 'the default budget, for each one without a budget of its own',
        choices: Object.keys(KINDS),
      },
      '--budget <yuan/period>': {
        text: 'maximum spend per day, per week (from Monday) or per month, such as 5/day or none/day; can be given several times',
        isRequired: true,
        parse: readCallerBudget,
      },
    },
    check: (given) => void named(given),
    sends: 'PATCH /accounts/:accountId/caller-budgets',
    body: (given) => ({ ...named(given), ...(given.budget as object) }),
    text: (budget: CallerBudget) => `${nameOf(budget)}: ${describeCaps(budget) || NONE}`,
  },
});

function named({ endUser, tag, every }: Given): { readonly kind: string; readonly value: unknown } {
  const asked = [
    ...(endUser === undefined ? [] : [{ kind: KINDS['end-user'], value: endUser }]),
    ...(tag === undefined ? [] : [{ kind: KINDS.tag, value: tag }]),
    ...(every === undefined ? [] : [{ kind: KINDS[every as keyof typeof KINDS], value: null }]),
  ];
  if (asked.length !== 1) throw new UsageError('Specify one of --end-user, --tag and --every.');
  return asked[0]!;
}

function readCallerBudget(text: string, before: object | undefined): object {
  if (text.endsWith('/total'))
    throw new InvalidArgumentError('Expected an amount per day, week or month, such as 5/day.');
  return readBudget(text, before);
}

function nameOf({ kind, value }: CallerBudget): string {
  const word = kind === 'tag' ? 'tag' : 'end user';
  return value === null ? `every ${word}` : `${word} ${value}`;
}

const describeCaps = (budget: CallerBudget): string =>
  describeBudgets({ ...budget, totalSpendCapYuan: null }).join(', ');

function describeUse({ used, value, ...caps }: CallerBudget): string {
  const spent = describeSpent({ ...caps, totalSpendCapYuan: null }, { ...used, totalSpendYuan: '0' }).join(', ');
  return value === null ? `${spent}, shared by those beyond the daily maximum` : spent;
}
