import { z } from 'zod';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page } from '../management/wire.ts';
import { oneWebhookEndpoints } from './one-webhook.ts';
import { type WebhookAdminDependencies, webhookKeeper } from './webhook-keeper.ts';
import {
  accountEvents,
  lowBalanceResponse,
  newWebhook,
  newWebhookResponse,
  threshold,
  webhookChange,
  webhookResponse,
} from './wire.ts';

const newEndpoint = z.strictObject({ ...newWebhook, events: accountEvents });
const change = z.strictObject({ ...webhookChange, events: accountEvents });

export function ownWebhookEndpoints(dependencies: WebhookAdminDependencies): AccountEndpoint[] {
  const keeper = webhookKeeper(dependencies);
  const needs = 'owner';

  return [
    accountEndpoint({
      method: 'GET',
      path: '/webhooks',
      summary: 'List the webhook endpoints of the account, newest first',
      needs,
      query: z.strictObject(page),
      response: pageOf(webhookResponse),
      run: ({ query }, { scope }) => keeper.list(scope.accountId, query),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks',
      status: 201,
      summary: 'Create a webhook endpoint; the response shows its secret once',
      needs,
      body: newEndpoint,
      isRepeatable: true,
      response: newWebhookResponse,
      run: ({ body, idempotencyKey }, { scope: { accountId } }) =>
        keeper.create({ ...body, accountId, idempotencyKey }),
    }),
    ...oneWebhookEndpoints<AccountEndpoint, typeof change>(
      keeper,
      (row) => accountEndpoint({ ...row, needs, resource: 'webhook' }),
      { body: change, run: ({ id, body }) => keeper.change(id, body) },
    ),
    accountEndpoint({
      method: 'GET',
      path: '/low-balance',
      summary: 'Read the low-balance threshold',
      needs,
      response: lowBalanceResponse,
      run: (_input, { scope }) => keeper.readLowBalance(scope.accountId),
    }),
    accountEndpoint({
      method: 'PUT',
      path: '/low-balance',
      subject: {
        kind: 'account',
        named: (_input, { scope }) => scope.accountId,
        read: (accountId) => keeper.readLowBalance(accountId),
      },
      summary: 'Set the low-balance threshold; null: the gateway’s default',
      needs,
      body: threshold,
      response: lowBalanceResponse,
      run: ({ body }, { scope }) => keeper.setLowBalance(scope.accountId, body.thresholdYuan),
    }),
  ];
}
