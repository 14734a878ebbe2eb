import { z } from 'zod';
import type { WebhookEndpoint } from '../../notices/endpoint-store.ts';
import type { WebhookAdminParts } from '../admin/webhooks.ts';
import { capYuan, page, toPage } from '../admin/wire.ts';
import { pageOf } from '../management/answer-fields.ts';
import { notFound } from '../management/endpoint.ts';
import {
  accountEvents,
  createdToWire,
  deliveryAnswer,
  deliveryToWire,
  lowBalanceAnswer,
  lowBalanceToWire,
  newWebhook,
  newWebhookAnswer,
  queuedAnswer,
  redeliver,
  redelivery,
  sendTest,
  webhookAnswer,
  webhookChange,
  webhookToWire,
  withTarget,
} from '../management/webhook-wire.ts';
import { type AccountEndpoint, accountEndpoint } from './endpoint.ts';

const newEndpoint = z.strictObject({ ...newWebhook, events: accountEvents });
const change = z.strictObject({ ...webhookChange, events: accountEvents });
const threshold = z.strictObject({ thresholdYuan: capYuan.nullable() });

/** Webhook endpoints of the account, which hear of it alone. */
export function ownWebhookEndpoints({ webhooks, lowBalanceNano }: WebhookAdminParts): AccountEndpoint[] {
  /** Also where the server has found whose it is. */
  async function requireOwn(id: string, accountId: string): Promise<WebhookEndpoint> {
    const endpoint = await webhooks.find(id);
    if (endpoint === null || endpoint.accountId !== accountId) throw notFound('webhook', id);
    return endpoint;
  }
  const subject = {
    kind: 'webhook',
    async read(id: string) {
      const endpoint = await webhooks.find(id);
      return endpoint && webhookToWire(endpoint);
    },
  };
  const needs = 'owner';
  const resource = 'webhook';

  return [
    accountEndpoint({
      method: 'GET',
      path: '/webhooks',
      summary: 'List the webhook endpoints of the account, newest first',
      needs,
      query: z.strictObject(page),
      answer: pageOf(webhookAnswer),
      run: async ({ query: { limit, cursor } }, { scope: { accountId } }) =>
        toPage(await webhooks.list(accountId, cursor ?? null, limit), limit, webhookToWire, ({ id }) => id),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks',
      status: 201,
      summary: 'Create a webhook endpoint; the answer shows its secret once',
      needs,
      body: newEndpoint,
      isRepeatable: true,
      answer: newWebhookAnswer,
      async run({ body: { url, events = null }, idempotencyKey }, { scope: { accountId } }) {
        const asked = { accountId, url, events, idempotencyKey };
        return createdToWire(await withTarget(async () => webhooks.create(asked)), accountId);
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Read a webhook endpoint',
      needs,
      resource,
      answer: webhookAnswer,
      run: async ({ id }, { scope }) => webhookToWire(await requireOwn(id, scope.accountId)),
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/webhooks/:id',
      subject,
      summary: 'Change a webhook endpoint, disable it, or make it active again',
      needs,
      resource,
      body: change,
      answer: webhookAnswer,
      async run({ id, body }, { scope }) {
        await requireOwn(id, scope.accountId);
        const endpoint = await withTarget(() => webhooks.update(id, body));
        if (endpoint === null) throw notFound('webhook', id);
        return webhookToWire(endpoint);
      },
    }),
    accountEndpoint({
      method: 'DELETE',
      path: '/webhooks/:id',
      subject,
      status: 204,
      answer: null,
      summary: 'Delete a webhook endpoint, and what was to be sent to it',
      needs,
      resource,
      async run({ id }, { scope }) {
        await requireOwn(id, scope.accountId);
        await webhooks.delete(id);
        return null;
      },
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks/:id/test',
      status: 201,
      summary: 'Send a test notice to a webhook endpoint',
      needs,
      resource,
      answer: queuedAnswer,
      run: async ({ id }, { scope }) => sendTest(webhooks, await requireOwn(id, scope.accountId)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'List what was sent to a webhook endpoint, and what is to be, newest first',
      needs,
      resource,
      query: z.strictObject(page),
      answer: pageOf(deliveryAnswer),
      async run({ id, query: { limit, cursor } }, { scope }) {
        await requireOwn(id, scope.accountId);
        const deliveries = await webhooks.listDeliveries(id, cursor ?? null, limit);
        return toPage(deliveries, limit, deliveryToWire, ({ noticeId }) => noticeId);
      },
    }),
    accountEndpoint({
      method: 'POST',
      path: '/webhooks/:id/redeliver',
      status: 201,
      summary: 'Send a notice to a webhook endpoint once more',
      needs,
      resource,
      body: redelivery,
      answer: queuedAnswer,
      run: async ({ id, body }, { scope }) => redeliver(webhooks, await requireOwn(id, scope.accountId), body.noticeId),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/low-balance',
      summary: 'Read below which balance a notice is sent',
      needs: 'owner',
      answer: lowBalanceAnswer,
      async run(_input, { scope: { accountId } }) {
        const found = await webhooks.findLowBalance(accountId);
        if (found === null) throw notFound('account', accountId);
        return lowBalanceToWire(accountId, found, lowBalanceNano());
      },
    }),
    accountEndpoint({
      method: 'PUT',
      path: '/low-balance',
      summary: 'Set below which balance a notice is sent; null: as the gateway has it',
      needs: 'owner',
      body: threshold,
      answer: lowBalanceAnswer,
      async run({ body }, { scope: { accountId } }) {
        await webhooks.setLowBalance(accountId, body.thresholdYuan);
        return lowBalanceToWire(accountId, { lowBalanceNano: body.thresholdYuan }, lowBalanceNano());
      },
    }),
  ];
}
