import type { SubscriptionResponse } from '../../api/management/wire.ts';
import type { PlanRemainder, PlanResponse, PlansResponse } from '../../api/plans/admin.ts';
import { IDEMPOTENCY_KEY } from '../command.ts';
import { group } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { type Column, columnsOf, fieldsOf, renderFields, renderTable } from '../table.ts';

export const planCommands = group('plan', 'list, grant, renew, cancel and show Coding Plans', {
  'grant <account> <plan>': {
    about: 'give an account a plan for one period',
    with: {
      '<plan>': 'the plan, as the configuration names it',
      '--starts <instant>': 'when the subscription begins, such as 2027-01-01T00:00:00Z (default: now)',
      ...IDEMPOTENCY_KEY,
    },
    sends: 'POST /accounts/:accountId/subscriptions',
    body: ['planId: plan', 'startsAt: starts'],
    text: describe,
  },
  'renew <subscription>': {
    about: 'renew a subscription by one period',
    with: IDEMPOTENCY_KEY,
    sends: 'POST /subscriptions/:subscription/renewals',
    text: describe,
  },
  'cancel <subscription>': {
    about: 'cancel a subscription; it ends at once',
    sends: 'DELETE /subscriptions/:subscription',
    done: 'canceled',
  },
  list: {
    about: 'list the plans of the configuration, and how many subscriptions of each are active',
    async reads(admin, output) {
      const { data } = await admin.request<PlansResponse>('GET', '/plans');
      output.print(data, () => renderTable(data, 'The configuration has no plans.', PLAN_COLUMNS));
    },
  },
  'show <account>': {
    about: 'show what remains of the plan of an account, and list all its subscriptions',
    async reads(admin, output, { account, accountId }) {
      const path = `/accounts/${accountId}`;
      const subscriptions = await listAll<SubscriptionResponse>(admin, `${path}/subscriptions`, {});
      const remainder = await admin.request<PlanRemainder>('GET', `${path}/plan`);
      output.print({ remainder, subscriptions }, () => {
        if (subscriptions.length === 0) {
          return `The account has no Coding Plan. Grant one: faregate plan grant ${account} <plan>`;
        }
        return `${describeRemainder(remainder)}\n\n${renderSubscriptions(subscriptions)}`;
      });
    },
  },
});

const PLAN_COLUMNS: readonly Column<PlanResponse>[] = [
  ...columnsOf<PlanResponse>('id', 'name'),
  { title: 'active', cell: (row) => `${row.activeSubscriptions}${row.hasMoreSubscriptions ? ' or more' : ''}` },
  ...columnsOf<PlanResponse>('5 hours: fiveHourCalls', 'week: weeklyCalls', 'concurrency'),
  { title: 'tokens', cell: (row) => `${row.quotaTokens} in ${row.periodDays} days` },
  { title: 'models', cell: (row) => row.models.join(', ') },
];

const nameOf = ({ planName, planId }: SubscriptionResponse): string => planName ?? planId;

function describe(subscription: SubscriptionResponse): string {
  return renderFields([
    ...fieldsOf(subscription, 'subscription: id'),
    ['plan', nameOf(subscription)],
    ...fieldsOf(subscription, 'status', 'from: startsAt', 'to: endsAt'),
  ]);
}

function renderSubscriptions(subscriptions: readonly SubscriptionResponse[]): string {
  return renderTable(subscriptions, '', [
    ...columnsOf<SubscriptionResponse>('id'),
    { title: 'plan', cell: nameOf },
    ...columnsOf<SubscriptionResponse>('status', 'from: startsAt', 'to: endsAt'),
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
