import type { Command } from 'commander';
import type {
  DeliveryResponse,
  LowBalanceResponse,
  NewWebhookResponse,
  QueuedResponse,
  WebhookResponse,
} from '../../api/webhooks/wire.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { columnsOf, renderFields } from '../table.ts';

export function webhookCommands(program: Command, kit: CommandKit): void {
  const webhook = program
    .command('webhook')
    .description('where signed notices are sent: low balances, used plans, keys that expire, routes that are down');

  addCommand(webhook, 'create <url>', 'create an endpoint; the secret that its notices are signed with is shown once', {
    url: 'where notices are posted: https, on the public internet unless notices.allowNetworks has more',
  })
    .option(
      '--account <account>',
      'only notices of this account, by id or name (default: notices of all accounts and for operators)',
    )
    .option('--events <kinds>', 'only these kinds of notices, such as balance.low,route.down (default: all)')
    .action(
      kit.sends<NewWebhookResponse>('POST /webhooks', {
        body: ({ url, accountId = null, events }) => ({
          url,
          accountId,
          events: events === undefined ? null : String(events).split(','),
        }),
        text: ({ id, secret }) =>
          `${secret}\n\nThis is the only time the secret is shown. Its endpoint is ${id}.\nTry it: faregate webhook test ${id}`,
      }),
    );

  addCommand(webhook, 'list', 'list the endpoints, newest first')
    .option('--account <account>', 'only endpoints of this account, by id or name')
    .option('--limit <count>', 'maximum number of rows', '50')
    .action(
      kit.lists<WebhookResponse>('/webhooks', {
        filters: ['accountId'],
        empty: 'There are no webhook endpoints. Create one: faregate webhook create https://receiver.example/hook',
        columns: [
          { title: 'id', cell: (row) => row.id },
          { title: 'account', cell: (row) => row.accountId ?? 'operators' },
          { title: 'url', cell: (row) => row.url },
          { title: 'events', cell: (row) => row.events?.join(',') ?? 'all' },
          { title: 'status', cell: (row) => row.status },
          { title: 'failing since', cell: (row) => localTime(row.failingSince ?? '') },
          { title: 'reason', cell: (row) => row.statusReason ?? '' },
        ],
      }),
    );

  addCommand(
    webhook,
    'test <endpoint>',
    'send a test notice; "webhook deliveries" shows whether it was delivered',
  ).action(
    kit.sends<QueuedResponse>('POST /webhooks/:endpoint/test', {
      text: ({ noticeId }, { endpoint }) => `Queued ${noticeId}. See: faregate webhook deliveries ${endpoint}`,
    }),
  );

  addCommand(webhook, 'deliveries <endpoint>', 'list sent and pending notices of an endpoint, newest first')
    .option('--limit <count>', 'maximum number of rows', '20')
    .action(
      kit.lists<DeliveryResponse>('/webhooks/:endpoint/deliveries', {
        empty: 'Nothing was sent to this endpoint yet.',
        columns: [
          { title: 'notice', cell: (row) => row.noticeId },
          { title: 'event', cell: (row) => row.event },
          { title: 'when', cell: (row) => localTime(row.at) },
          ...columnsOf<DeliveryResponse>('status', 'attempts', 'nextAttemptAt', 'lastStatus', 'lastError'),
        ],
      }),
    );

  addCommand(webhook, 'redeliver <endpoint> <notice>', 'send a notice to an endpoint again, delivered or not', {
    notice: 'the id of the notice, such as ntc_01…',
  }).action(
    kit.sends('POST /webhooks/:endpoint/redeliver', {
      body: ({ notice }) => ({ noticeId: notice }),
      text: (_, { endpoint, notice }) => `Queued ${notice}. See: faregate webhook deliveries ${endpoint}`,
    }),
  );

  for (const [name, status, description] of [
    ['disable', 'disabled', 'send nothing to an endpoint until it is enabled'],
    ['enable', 'active', 'send to an endpoint again, pending notices included'],
  ] as const) {
    addCommand(webhook, `${name} <endpoint>`, description).action(
      kit.sends<WebhookResponse>('PATCH /webhooks/:endpoint', {
        body: () => ({ status }),
        text: (changed) => `${changed.id} is ${changed.status}.`,
      }),
    );
  }

  addCommand(webhook, 'delete <endpoint>', 'delete an endpoint and its pending notices').action(
    kit.sends('DELETE /webhooks/:endpoint', {
      result: ({ endpoint: id }) => ({ id, deleted: true }),
      text: (_, { endpoint }) => `Deleted ${endpoint}.`,
    }),
  );

  addCommand(
    webhook,
    'low-balance <account> [yuan]',
    'show or set the balance below which notices of a low balance are sent',
    { yuan: 'the threshold in yuan, or "default" for the one of the configuration' },
  ).action(
    kit.changing(async (admin, output, { accountId, yuan }) => {
      const path = `/accounts/${accountId}/low-balance`;
      const body = { thresholdYuan: yuan === 'default' ? null : yuan };
      const shown =
        yuan === undefined
          ? await admin.request<LowBalanceResponse>('GET', path)
          : await admin.request<LowBalanceResponse>('PUT', path, body);
      output.print(shown, () =>
        renderFields([
          ['account', shown.accountId],
          ['threshold', shown.thresholdYuan ?? 'default'],
          ['default', shown.defaultThresholdYuan ?? 'none'],
        ]),
      );
    }),
  );
}
