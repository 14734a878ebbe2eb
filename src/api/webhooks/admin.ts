import { z } from 'zod';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { ACCOUNT_KINDS } from '../../notices/notice.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { filterText, page } from '../management/wire.ts';
import { oneWebhookEndpoints } from './one-webhook.ts';
import { type WebhookAdminDependencies, webhookKeeper } from './webhook-keeper.ts';
import {
  lowBalanceResponse,
  newWebhook,
  newWebhookResponse,
  operatorEvents,
  threshold,
  webhookChange,
  webhookResponse,
} from './wire.ts';

const newEndpoint = z.strictObject({ ...newWebhook, accountId: filterText.nullish(), events: operatorEvents });
const change = z.strictObject({ ...webhookChange, events: operatorEvents });
const list = z.strictObject({ ...page, accountId: filterText.optional() });

/** Endpoints for webhooks. Those of operators get all notices, those of an account only its own. */
export function webhookEndpoints(dependencies: WebhookAdminDependencies): AdminEndpoint[] {
  const keeper = webhookKeeper(dependencies);

  return [
    adminEndpoint({
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhook endpoints, newest first',
      query: list,
      response: pageOf(webhookResponse),
      run: ({ query: { accountId, ...page } }) => keeper.list(accountId ?? null, page),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/webhooks',
      status: 201,
      summary: 'Create a webhook endpoint; the response shows its secret once',
      body: newEndpoint,
      isRepeatable: true,
      response: newWebhookResponse,
      async run({ body: { accountId = null, ...asked }, idempotencyKey }) {
        requireKinds(accountId, asked.events ?? null);
        return keeper.create({ ...asked, accountId, idempotencyKey });
      },
    }),
    ...oneWebhookEndpoints<AdminEndpoint, typeof change>(keeper, (row) => adminEndpoint(row), {
      body: change,
      async run({ id, body }) {
        requireKinds((await keeper.find(id)).accountId, body.events ?? null);
        return keeper.change(id, body);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/low-balance',
      summary: 'Read the low-balance threshold of an account',
      response: lowBalanceResponse,
      run: ({ id }) => keeper.readLowBalance(id),
    }),
    adminEndpoint({
      method: 'PUT',
      path: '/accounts/:id/low-balance',
      subject: { kind: 'account', read: (id) => keeper.readLowBalance(id) },
      summary: 'Set the low-balance threshold of an account; null: the configured value',
      body: threshold,
      response: lowBalanceResponse,
      run: ({ id, body }) => keeper.setLowBalance(id, body.thresholdYuan),
    }),
  ];
}

/** Checks the kinds of notices, because a webhook of an account gets only some of them. */
function requireKinds(accountId: string | null, events: readonly string[] | null): void {
  if (accountId === null || events === null) return;
  const other = events.find((kind) => !(ACCOUNT_KINDS as readonly string[]).includes(kind));
  if (other !== undefined) throw invalidRequest(`events: Accounts cannot subscribe to ${other}.`, 'events');
}
