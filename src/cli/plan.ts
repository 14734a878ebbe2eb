import type { Command } from 'commander';
import { listAll, resolveAccount } from './account.ts';
import { type CommandKit, IDEMPOTENCY_KEY, idempotencyKeyOf } from './command.ts';
import { localTime } from './local-time.ts';
import { renderFields, renderTable } from './output.ts';

interface SubscriptionView {
  readonly id: string;
  readonly planId: string;
  readonly planName: string | null;
  readonly status: string;
  readonly startsAt: string;
  readonly endsAt: string;
}

const describe = (subscription: SubscriptionView): string =>
  renderFields([
    ['subscription', subscription.id],
    ['plan', subscription.planName ?? subscription.planId],
    ['status', subscription.status],
    ['from', localTime(subscription.startsAt)],
    ['to', localTime(subscription.endsAt)],
  ]);

/** `faregate plan …` */
export function planCommands(program: Command, kit: CommandKit): void {
  const plan = program.command('plan').description('grant, renew, cancel and show Coding Plans');

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
        const granted = await admin.request<SubscriptionView>(
          'POST',
          `/accounts/${accountId}/subscriptions`,
          { planId, startsAt: options.starts },
          idempotencyKeyOf(options),
        );
        output.print(granted, () => describe(granted));
      }),
    );

  plan
    .command('renew')
    .description('renew a subscription by one period')
    .argument('<subscription>', 'the id of the subscription, such as sub_01…')
    .option(...IDEMPOTENCY_KEY)
    .action(
      kit.changing(async (admin, output, [id], options) => {
        const renewed = await admin.request<SubscriptionView>(
          'POST',
          `/subscriptions/${id}/renewals`,
          undefined,
          idempotencyKeyOf(options),
        );
        output.print(renewed, () => describe(renewed));
      }),
    );

  plan
    .command('cancel')
    .description('cancel a subscription; it ends at once')
    .argument('<subscription>', 'the id of the subscription, such as sub_01…')
    .action(
      kit.changing(async (admin, output, [id]) => {
        await admin.request('DELETE', `/subscriptions/${id}`);
        output.print({ id, canceled: true }, () => `Canceled ${id}.`);
      }),
    );

  plan
    .command('show')
    .description('list the subscriptions of an account')
    .argument('<account>', 'id or name')
    .action(
      kit.reading(async (admin, output, [reference]) => {
        const accountId = await resolveAccount(admin, reference!);
        const subscriptions = await listAll<SubscriptionView>(admin, `/accounts/${accountId}/subscriptions`, {});
        output.print(subscriptions, () =>
          renderTable(
            subscriptions,
            [
              { title: 'id', cell: (row) => row.id },
              { title: 'plan', cell: (row) => row.planName ?? row.planId },
              { title: 'status', cell: (row) => row.status },
              { title: 'from', cell: (row) => localTime(row.startsAt) },
              { title: 'to', cell: (row) => localTime(row.endsAt) },
            ],
            `The account has no Coding Plan. Grant one: faregate plan grant ${reference} <plan>`,
          ),
        );
      }),
    );
}
