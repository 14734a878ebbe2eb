import type { Command } from 'commander';
import type { SubscriptionResponse } from '../../api/management/wire.ts';
import type { PlanRemainder, PlanResponse, PlansResponse } from '../../api/plans/admin.ts';
import { IDEMPOTENCY_KEY } from '../command.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { columnsOf, renderFields, renderTable } from '../table.ts';

export function planCommands(program: Command, kit: CommandKit): void {
  const plan = program.command('plan').description('list, grant, renew, cancel and show Coding Plans');

  addCommand(plan, 'grant <account> <plan>', 'give an account a plan for one period', {
    plan: 'the plan, as the configuration names it',
  })
    .option('--starts <instant>', 'when the subscription begins, such as 2027-01-01T00:00:00Z (default: now)')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.sends<SubscriptionResponse>('POST /accounts/:accountId/subscriptions', {
        body: ({ plan: planId, starts }) => ({ planId, startsAt: starts }),
        text: describe,
      }),
    );

  addCommand(plan, 'renew <subscription>', 'renew a subscription by one period')
    .option(...IDEMPOTENCY_KEY)
    .action(kit.sends<SubscriptionResponse>('POST /subscriptions/:subscription/renewals', { text: describe }));

  addCommand(plan, 'cancel <subscription>', 'cancel a subscription; it ends at once').action(
    kit.sends('DELETE /subscriptions/:subscription', {
      result: ({ subscription: id }) => ({ id, canceled: true }),
      text: (_, { subscription: id }) => `Canceled ${id}.`,
    }),
  );

  addCommand(plan, 'list', 'list the plans of the configuration, and how many subscriptions of each are active').action(
    kit.reading(async (admin, output) => {
      const { data } = await admin.request<PlansResponse>('GET', '/plans');
      output.print(data, () =>
        renderTable(data, 'The configuration has no plans.', [
          ...columnsOf<PlanResponse>('id', 'name'),
          {
            title: 'active',
            cell: (row) => `${row.activeSubscriptions}${row.hasMoreSubscriptions ? ' or more' : ''}`,
          },
          { title: '5 hours', cell: (row) => String(row.fiveHourCalls) },
          { title: 'week', cell: (row) => String(row.weeklyCalls) },
          ...columnsOf<PlanResponse>('concurrency'),
          { title: 'tokens', cell: (row) => `${row.quotaTokens} in ${row.periodDays} days` },
          { title: 'models', cell: (row) => row.models.join(', ') },
        ]),
      );
    }),
  );

  addCommand(
    plan,
    'show <account>',
    'show what remains of the plan of an account, and list all its subscriptions',
  ).action(
    kit.reading(async (admin, output, { account, accountId }) => {
      const path = `/accounts/${accountId}`;
      const subscriptions = await listAll<SubscriptionResponse>(admin, `${path}/subscriptions`, {});
      const remainder = await admin.request<PlanRemainder>('GET', `${path}/plan`);
      output.print({ remainder, subscriptions }, () => {
        if (subscriptions.length === 0) {
          return `The account has no Coding Plan. Grant one: faregate plan grant ${account} <plan>`;
        }
        return `${describeRemainder(remainder)}\n\n${renderSubscriptions(subscriptions)}`;
      });
    }),
  );
}

const nameOf = ({ planName, planId }: SubscriptionResponse): string => planName ?? planId;

function describe(subscription: SubscriptionResponse): string {
  return renderFields([
    ['subscription', subscription.id],
    ['plan', nameOf(subscription)],
    ['status', subscription.status],
    ['from', localTime(subscription.startsAt)],
    ['to', localTime(subscription.endsAt)],
  ]);
}

function renderSubscriptions(subscriptions: readonly SubscriptionResponse[]): string {
  return renderTable(subscriptions, '', [
    { title: 'id', cell: (row) => row.id },
    { title: 'plan', cell: nameOf },
    { title: 'status', cell: (row) => row.status },
    { title: 'from', cell: (row) => localTime(row.startsAt) },
    { title: 'to', cell: (row) => localTime(row.endsAt) },
  ]);
}

function describeRemainder(view: PlanRemainder): string {
  const { fiveHour, weekly, quota, concurrency } = view;
  if (fiveHour === null || weekly === null || quota === null || concurrency === null) return view.message ?? '';
  const { roomAt, moreAt } = fiveHour;
  const more = moreAt === null ? '' : `, ${roomAt === null ? 'more' : 'room again'} at ${localTime(moreAt)}`;
  return renderFields([
    ['plan', `${view.planName} (${view.planId})`],
    ['usable', view.isUsable ? 'yes' : `no, again at ${localTime(view.usableAgainAt ?? '')}`],
    ['five hours', `${fiveHour.used} of ${fiveHour.limit} calls used, ${fiveHour.remaining} left${more}`],
    [
      'week',
      `${weekly.used} of ${weekly.limit} calls used, ${weekly.remaining} left, resets at ${localTime(weekly.resetAt)}`,
    ],
    [
      'tokens',
      `${quota.usedTokens} of ${quota.limitTokens} used, ${quota.remainingTokens} left, resets at ${localTime(quota.resetAt)}`,
    ],
    ['concurrency', `${concurrency.inFlight} of ${concurrency.limit} calls in flight`],
  ]);
}
