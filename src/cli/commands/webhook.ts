import type { Command } from 'commander';
import type {
  DeliveryResponse,
  LowBalanceResponse,
  NewWebhookResponse,
  QueuedResponse,
  WebhookResponse,
} from '../../api/webhooks/wire.ts';
import { resolveAccount } from '../account-reference.ts';
import type { CommandKit } from '../command.ts';
import { localTime } from '../local-time.ts';
import { listUpTo } from '../pages.ts';
import { queryOf } from '../query.ts';
import { printTable, renderFields } from '../table.ts';

/** `faregate webhook …` */
export function webhookCommands(program: Command, kit: CommandKit): void {
  const webhook = program
    .command('webhook')
    .description('where signed notices are sent: low balances, used plans, keys that expire, routes that are down');

  webhook
    .command('create')
    .description('create an endpoint; the secret that its notices are signed with is shown once')
    .argument('<url>', 'where notices are posted: https, on the public internet unless notices.allowNetworks has more')
    .option(
      '--account <account>',
      'only notices of this account, by id or name (default: of all, and of the operators)',
    )
    .option('--events <kinds>', 'only these, such as balance.low,route.down (default: all)')
    .action(
      kit.changing(async (admin, output, [url], options) => {
        const accountId = options.account === undefined ? null : await resolveAccount(admin, String(options.account));
        const events = options.events === undefined ? null : String(options.events).split(',');
        const created = await admin.request<NewWebhookResponse>('POST', '/webhooks', {
          url,
          accountId,
          events,
        });
        output.print(
          created,
          () =>
            `${created.secret}\n\nThis is the only time the secret is shown. Its endpoint is ${created.id}.\nTry it: faregate webhook test ${created.id}`,
        );
      }),
    );

  webhook
    .command('list')
    .description('list the endpoints, newest first')
    .option('--account <account>', 'only those of this account, by id or name')
    .option('--limit <count>', 'how many', '50')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const query = await queryOf(admin, options, []);
        const endpoints = await listUpTo<WebhookResponse>(admin, '/webhooks', query, String(options.limit));
        printTable(
          output,
          endpoints,
          'There are no webhook endpoints. Create one: faregate webhook create https://receiver.example/hook',
          [
            { title: 'id', cell: (row) => row.id },
            { title: 'account', cell: (row) => row.accountId ?? 'operators' },
            { title: 'url', cell: (row) => row.url },
            { title: 'events', cell: (row) => row.events?.join(',') ?? 'all' },
            { title: 'status', cell: (row) => row.status },
            { title: 'failing since', cell: (row) => localTime(row.failingSince ?? '') },
            { title: 'reason', cell: (row) => row.statusReason ?? '' },
          ],
        );
      }),
    );

  const ofEndpoint = (name: string, description: string): Command =>
    webhook.command(name).description(description).argument('<endpoint>', 'the id of the endpoint, such as whk_01…');

  ofEndpoint('test', 'send a test notice; "webhook deliveries" shows what became of it').action(
    kit.changing(async (admin, output, [id]) => {
      const queued = await admin.request<QueuedResponse>('POST', `/webhooks/${encodeURIComponent(id!)}/test`);
      output.print(queued, ({ noticeId }) => `Queued ${noticeId}. See: faregate webhook deliveries ${id}`);
    }),
  );

  ofEndpoint('deliveries', 'list what was sent to an endpoint and what is to be, newest first')
    .option('--limit <count>', 'how many', '20')
    .action(
      kit.reading(async (admin, output, [id], options) => {
        const path = `/webhooks/${encodeURIComponent(id!)}/deliveries`;
        const deliveries = await listUpTo<DeliveryResponse>(admin, path, {}, String(options.limit));
        printTable(output, deliveries, 'Nothing was sent to this endpoint yet.', [
          { title: 'notice', cell: (row) => row.noticeId },
          { title: 'event', cell: (row) => row.event },
          { title: 'when', cell: (row) => localTime(row.at) },
          { title: 'status', cell: (row) => row.status },
          { title: 'attempts', cell: (row) => String(row.attempts), align: 'right' },
          { title: 'next attempt', cell: (row) => localTime(row.nextAttemptAt ?? '') },
          { title: 'last status', cell: (row) => String(row.lastStatus ?? '') },
          { title: 'last error', cell: (row) => row.lastError ?? '' },
        ]);
      }),
    );

  ofEndpoint('redeliver', 'send a notice to an endpoint once more, whatever became of it')
    .argument('<notice>', 'the id of the notice, such as ntc_01…')
    .action(
      kit.changing(async (admin, output, [id, noticeId]) => {
        const queued = await admin.request('POST', `/webhooks/${encodeURIComponent(id!)}/redeliver`, { noticeId });
        output.print(queued, () => `Queued ${noticeId}. See: faregate webhook deliveries ${id}`);
      }),
    );

  for (const [name, status, description] of [
    ['disable', 'disabled', 'send nothing to an endpoint until it is enabled'],
    ['enable', 'active', 'send to an endpoint again, also what has waited for it'],
  ] as const) {
    ofEndpoint(name, description).action(
      kit.changing(async (admin, output, [id]) => {
        const path = `/webhooks/${encodeURIComponent(id!)}`;
        const changed = await admin.request<WebhookResponse>('PATCH', path, { status });
        output.print(changed, () => `${changed.id} is ${changed.status}.`);
      }),
    );
  }

  ofEndpoint('delete', 'delete an endpoint, and what was to be sent to it').action(
    kit.changing(async (admin, output, [id]) => {
      await admin.request('DELETE', `/webhooks/${encodeURIComponent(id!)}`);
      output.print({ id, deleted: true }, () => `Deleted ${id}.`);
    }),
  );

  webhook
    .command('low-balance')
    .description('show or set below which balance an account is told of it')
    .argument('<account>', 'the id or the name')
    .argument('[yuan]', 'the threshold, or "default" for that of the configuration')
    .action(
      kit.changing(async (admin, output, [reference, yuan]) => {
        const path = `/accounts/${await resolveAccount(admin, reference!)}/low-balance`;
        const body = { thresholdYuan: yuan === 'default' ? null : yuan };
        const shown = await (yuan === ''
          ? admin.request<LowBalanceResponse>('GET', path)
          : admin.request<LowBalanceResponse>('PUT', path, body));
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
