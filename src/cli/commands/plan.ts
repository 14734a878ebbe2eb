import type { Command } from 'commander';
import type { SubscriptionResponse } from '../../api/management/wire.ts';
import type { PlanRemainder, PlansResponse } from '../../api/plans/admin.ts';
import { resolveAccount } from '../account-reference.ts';
import { type CommandKit, IDEMPOTENCY_KEY, idempotencyKeyOf } from '../command.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { printTable, renderFields, renderTable } from '../table.ts';

const describe = (subscription: SubscriptionResponse): string =>
  renderFields([
    ['subscription', subscription.id],
    ['plan', subscription.planName ?? subscription.planId],
    ['status', subscription.status],
    ['from', localTime(subscription.startsAt)],
    ['to', localTime(subscription.endsAt)],
  ]);

/** `faregate plan …` */
export function planCommands(program: Command, kit: CommandKit): void {
  const plan = program.command('plan').description('list, grant, renew, cancel and show Coding Plans');

  plan
    .command('grant')
    .description('give an account a plan for one period')
    .argument('<account>', 'id or name')
    .argument('<plan>', 'the plan, as the configuration names it')
    .option('--starts <instant>', 'when it begins, such as 2027-01-01T00:00:00Z (default: now)')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.changing(async (admin, output, [reference, planId], options) => {
        const accountId = await resolveAccount(admin, reference!);
        const path = `/accounts/${accountId}/subscriptions`;
        const asked = { planId, startsAt: options.starts };
        const key = idempotencyKeyOf(options);
        output.print(await admin.request<SubscriptionResponse>('POST', path, asked, key), describe);
      }),
    );

  const ofSubscription = (name: string, description: string): Command =>
    plan
      .command(name)
      .description(description)
      .argument('<subscription>', 'the id of the subscription, such as sub_01…');

  ofSubscription('renew', 'renew a subscription by one period')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.changing(async (admin, output, [id], options) => {
        const path = `/subscriptions/${id}/renewals`;
        const key = idempotencyKeyOf(options);
        output.print(await admin.request<SubscriptionResponse>('POST', path, undefined, key), describe);
      }),
    );

  ofSubscription('cancel', 'cancel a subscription; it ends at once').action(
    kit.changing(async (admin, output, [id]) => {
      await admin.request('DELETE', `/subscriptions/${id}`);
      output.print({ id, canceled: true }, () => `Canceled ${id}.`);
    }),
  );

  plan
    .command('list')
    .description('list the plans of the configuration, and how many subscriptions of each are active')
    .action(
      kit.reading(async (admin, output) => {
        const { data } = await admin.request<PlansResponse>('GET', '/plans');
        printTable(output, data, 'The configuration has no plans.', [
          { title: 'id', cell: (row) => row.id },
          { title: 'name', cell: (row) => row.name },
          {
            title: 'active',
            cell: (row) => `${row.activeSubscriptions}${row.hasMoreSubscriptions ? ' or more' : ''}`,
            align: 'right',
          },
          { title: '5 hours', cell: (row) => String(row.fiveHourCalls), align: 'right' },
          { title: 'week', cell: (row) => String(row.weeklyCalls), align: 'right' },
          { title: 'at a time', cell: (row) => String(row.concurrency), align: 'right' },
          { title: 'tokens', cell: (row) => `${row.quotaTokens} in ${row.periodDays} days`, align: 'right' },
          { title: 'models', cell: (row) => row.models.join(', ') },
        ]);
      }),
    );

  plan
    .command('show')
    .description('show what remains of the plan of an account, and all its subscriptions')
    .argument('<account>', 'id or name')
    .action(
      kit.reading(async (admin, output, [reference]) => {
        const accountId = await resolveAccount(admin, reference!);
        const subscriptions = await listAll<SubscriptionResponse>(admin, `/accounts/${accountId}/subscriptions`, {});
        const remainder = await admin.request<PlanRemainder>('GET', `/accounts/${accountId}/plan`);
        output.print({ remainder, subscriptions }, () => {
          if (subscriptions.length === 0) {
            return `The account has no Coding Plan. Grant one: faregate plan grant ${reference} <plan>`;
          }
          return `${describeRemainder(remainder)}\n\n${renderSubscriptions(subscriptions)}`;
        });
      }),
    );
}

function renderSubscriptions(subscriptions: readonly SubscriptionResponse[]): string {
  return renderTable(subscriptions, '', [
    { title: 'id', cell: (row) => row.id },
    { title: 'plan', cell: (row) => row.planName ?? row.planId },
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
      `${weekly.used} of ${weekly.limit} calls used, ${weekly.remaining} left, new at ${localTime(weekly.resetAt)}`,
    ],
    [
      'tokens',
      `${quota.usedTokens} of ${quota.limitTokens} used, ${quota.remainingTokens} left, new at ${localTime(quota.resetAt)}`,
    ],
    ['at a time', `${concurrency.inFlight} of ${concurrency.limit} calls in flight`],
  ]);
}
