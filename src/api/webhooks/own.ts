import { z } from 'zod';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { capYuan, page } from '../management/wire.ts';
import { type WebhookAdminParts, webhookKeeper } from './webhook-keeper.ts';
import {
  accountEvents,
  deliveryResponse,
  lowBalanceResponse,
  newWebhook,
  newWebhookResponse,
  queuedResponse,
  redelivery,
  webhookChange,
  webhookResponse,
  webhookToWire,
} from './wire.ts';

const newEndpoint = z.strictObject({ ...newWebhook, events: accountEvents });
const change = z.strictObject({ ...webhookChange, events: accountEvents });
const threshold = z.strictObject({ thresholdYuan: capYuan.nullable() });

/** Webhook endpoints of the account, which hear of it alone. */
export function ownWebhookEndpoints(parts: WebhookAdminParts): AccountEndpoint[] {
  const keeper = webhookKeeper(parts);
  const { subject } = keeper;
  const needs = 'owner';
  const resource = 'webhook';

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
      run: ({ body: { url, events = null }, idempotencyKey }, { scope: { accountId } }) =>
        keeper.create({ accountId, url, events, idempotencyKey }),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Read a webhook endpoint',
      needs,
      resource,
      response: webhookResponse,
      run: async ({ id }) => webhookToWire(await keeper.find(id)),
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/webhooks/:id',
      subject,
      summary: 'Change a webhook endpoint, disable it, or make it active again',
      needs,
      resource,
      body: change,
      response: webhookResponse,
      run: ({ id, body }) => keeper.change(id, body),
    }),
    accountEndpoint({
      method: 'DELETE',
      path: '/webhooks/:id',
      subject,
      summary: 'Delete a webhook endpoint, and what was to be sent to it',
      needs,
      resource,
      run: ({ id }) => keeper.delete(id),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks/:id/test',
      subject,
      status: 201,
      summary: 'Send a test notice to a webhook endpoint',
      needs,
      resource,
      response: queuedResponse,
      run: ({ id }) => keeper.test(id),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'List what was sent to a webhook endpoint, and what is to be, newest first',
      needs,
      resource,
      query: z.strictObject(page),
      response: pageOf(deliveryResponse),
      run: ({ id, query }) => keeper.listDeliveries(id, query),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks/:id/redeliver',
      subject,
      status: 201,
      summary: 'Send a notice to a webhook endpoint once more',
      needs,
      resource,
      body: redelivery,
      response: queuedResponse,
      run: ({ id, body }) => keeper.redeliver(id, body.noticeId),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/low-balance',
      summary: 'Read below which balance a notice is sent',
      needs: 'owner',
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
      summary: 'Set below which balance a notice is sent; null: as the gateway has it',
      needs: 'owner',
      body: threshold,
      response: lowBalanceResponse,
      run: ({ body }, { scope }) => keeper.setLowBalance(scope.accountId, body.thresholdYuan),
    }),
  ];
}
