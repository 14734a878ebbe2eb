import type {
  DeliveryResponse,
  LowBalanceResponse,
  NewWebhookResponse,
  QueuedResponse,
  WebhookResponse,
} from '../../api/webhooks/wire.ts';
import { group, limitOf } from '../command-rows.ts';
import { columnsOf, renderFields } from '../table.ts';

const setStatus = (status: 'active' | 'disabled') =>
  ({
    sends: 'PATCH /webhooks/:endpoint',
    body: () => ({ status }),
    text: (changed: WebhookResponse) => `${changed.id} is ${changed.status}.`,
  }) as const;

const ABOUT =
  'where notices are sent, as signed JSON or to a messenger: low balances, used budgets and plans, keys that expire, routes that are down';

export const webhookCommands = group('webhook', ABOUT, {
  'create <url>': {
    about: 'create an endpoint; the secret that signed JSON is signed with is shown once',
    with: {
      '<url>': 'where notices are posted: https, on the public internet unless notices.allowNetworks has more',
      '--form <form>':
        'what is posted: faregate (signed JSON, the default), or a message for slack, feishu, dingtalk, wecom or telegram',
      '--secret <secret>': 'the secret of a robot of Feishu or DingTalk that verifies signatures',
      '--language <language>': 'the language of messages to a messenger: en or zh (default: notices.language)',
      '--account <account>':
        'only notices of this account, by id or name (default: notices of all accounts and for operators)',
      '--events <kinds>': 'only these kinds of notices, such as balance.low,route.down (default: all)',
    },
    sends: 'POST /webhooks',
    body: ({ url, form, secret, language, accountId = null, events }) => ({
      url,
      ...(form !== undefined && { form }),
      ...(secret !== undefined && { secret }),
      ...(language !== undefined && { language }),
      accountId,
      events: events === undefined ? null : String(events).split(','),
    }),
    text({ id, secret }: NewWebhookResponse) {
      const test = `Try it: faregate webhook test ${id}`;
      return secret === null
        ? `Created ${id}.\n${test}`
        : `${secret}\n\nThis is the only time the secret is shown. Its endpoint is ${id}.\n${test}`;
    },
  },
  list: {
    about: 'list the endpoints, newest first',
    with: {
      '--account <account>': 'only endpoints of this account, by id or name',
      ...limitOf(50),
    },
    lists: '/webhooks',
    filters: ['accountId'],
    empty: 'There are no webhook endpoints. Create one: faregate webhook create https://receiver.example/hook',
    columns: [
      ...columnsOf<WebhookResponse>('id'),
      { title: 'account', cell: (row: WebhookResponse) => row.accountId ?? 'operators' },
      ...columnsOf<WebhookResponse>('form', 'url'),
      { title: 'events', cell: (row: WebhookResponse) => row.events?.join(',') ?? 'all' },
      ...columnsOf<WebhookResponse>('status', 'failingSince', 'reason: statusReason'),
    ],
  },
  'test <endpoint>': {
    about: 'send a test notice; "webhook deliveries" shows whether it was delivered',
    sends: 'POST /webhooks/:endpoint/test',
    text: ({ noticeId }: QueuedResponse, { endpoint }) => describeQueued(noticeId, endpoint),
  },
  'deliveries <endpoint>': {
    about: 'list sent and pending notices of an endpoint, newest first',
    with: limitOf(20),
    lists: '/webhooks/:endpoint/deliveries',
    empty: 'Nothing was sent to this endpoint yet.',
    columns: [
      ...columnsOf<DeliveryResponse>('notice: noticeId', 'event', 'when: at', 'status', 'attempts', 'nextAttemptAt'),
      ...columnsOf<DeliveryResponse>('lastStatus', 'lastError'),
    ],
  },
  'redeliver <endpoint> <notice>': {
    about: 'send a notice to an endpoint again, delivered or not',
    with: { '<notice>': 'the id of the notice, such as ntc_01…' },
    sends: 'POST /webhooks/:endpoint/redeliver',
    body: ['noticeId: notice'],
    text: (_: QueuedResponse, { endpoint, notice }) => describeQueued(notice, endpoint),
  },
  'disable <endpoint>': {
    about: 'send nothing to an endpoint until it is enabled',
    ...setStatus('disabled'),
  },
  'enable <endpoint>': {
    about: 'send to an endpoint again, pending notices included',
    ...setStatus('active'),
  },
  'delete <endpoint>': {
    about: 'delete an endpoint and its pending notices',
    sends: 'DELETE /webhooks/:endpoint',
    done: 'deleted',
  },
  'low-balance <account> [yuan]': {
    about: 'show or set the balance below which notices of a low balance are sent',
    with: { '[yuan]': 'the threshold in yuan, or "default" for the one of the configuration' },
    async changes(admin, output, { accountId, yuan }) {
      const path = `/accounts/${accountId}/low-balance`;
      const body = yuan === undefined ? undefined : { thresholdYuan: yuan === 'default' ? null : yuan };
      const shown = await admin.request<LowBalanceResponse>(body === undefined ? 'GET' : 'PUT', path, body);
      output.print(shown, () =>
        renderFields([
          ['account', shown.accountId],
          ['threshold', shown.thresholdYuan ?? 'default'],
          ['default', shown.defaultThresholdYuan ?? 'none'],
          ['mail', shown.hasMail ? 'owners get a mail' : 'none: no mail server is configured'],
        ]),
      );
    },
  },
});

function describeQueued(noticeId: unknown, endpoint: unknown): string {
  return `Queued ${noticeId}. See: faregate webhook deliveries ${endpoint}`;
}
