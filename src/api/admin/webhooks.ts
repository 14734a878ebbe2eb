import { z } from 'zod';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { WebhookEndpoint } from '../../notices/endpoint-store.ts';
import { ACCOUNT_KINDS } from '../../notices/notice.ts';
import type { Webhooks } from '../../notices/webhooks.ts';
import { pageOf } from '../management/answer-fields.ts';
import { notFound } from '../management/endpoint.ts';
import {
  createdToWire,
  deliveryAnswer,
  deliveryToWire,
  lowBalanceAnswer,
  lowBalanceToWire,
  newWebhook,
  newWebhookAnswer,
  operatorEvents,
  queuedAnswer,
  redeliver,
  redelivery,
  sendTest,
  webhookAnswer,
  webhookChange,
  webhookToWire,
  withTarget,
} from '../management/webhook-wire.ts';
import { type AdminEndpoint, adminEndpoint } from './endpoint.ts';
import { capYuan, filterText, page, toPage } from './wire.ts';

export interface WebhookAdminParts {
  readonly webhooks: Webhooks;
  /** The configuration's threshold of `balance.low`; `null` where it has none. */
  readonly lowBalanceNano: () => bigint | null;
}

const newEndpoint = z.strictObject({ ...newWebhook, accountId: filterText.nullish(), events: operatorEvents });
const change = z.strictObject({ ...webhookChange, events: operatorEvents });
const list = z.strictObject({ ...page, accountId: filterText.optional() });
const threshold = z.strictObject({ thresholdYuan: capYuan.nullable() });

/** Webhook endpoints: the operators' own, which hear of everything, and those of accounts. */
export function webhookEndpoints({ webhooks, lowBalanceNano }: WebhookAdminParts): AdminEndpoint[] {
  async function require(id: string): Promise<WebhookEndpoint> {
    const endpoint = await webhooks.find(id);
    if (endpoint === null) throw notFound('webhook endpoint', id);
    return endpoint;
  }
  const subject = {
    kind: 'webhook',
    async read(id: string) {
      const endpoint = await webhooks.find(id);
      return endpoint && webhookToWire(endpoint);
    },
  };

  return [
    adminEndpoint({
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhook endpoints, newest first',
      query: list,
      answer: pageOf(webhookAnswer),
      run: async ({ query: { limit, cursor, accountId } }) =>
        toPage(await webhooks.list(accountId ?? null, cursor ?? null, limit), limit, webhookToWire, ({ id }) => id),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/webhooks',
      status: 201,
      summary: 'Create a webhook endpoint; the answer shows its secret once',
      body: newEndpoint,
      isRepeatable: true,
      answer: newWebhookAnswer,
      async run({ body: { url, accountId = null, events = null }, idempotencyKey }) {
        requireKinds(accountId, events);
        const asked = { accountId, url, events, idempotencyKey };
        return createdToWire(await withTarget(async () => webhooks.create(asked)), accountId);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Read a webhook endpoint',
      answer: webhookAnswer,
      run: async ({ id }) => webhookToWire(await require(id)),
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/webhooks/:id',
      subject,
      summary: 'Change a webhook endpoint, disable it, or make it active again',
      body: change,
      answer: webhookAnswer,
      async run({ id, body }) {
        requireKinds((await require(id)).accountId, body.events ?? null);
        const endpoint = await withTarget(() => webhooks.update(id, body));
        if (endpoint === null) throw notFound('webhook endpoint', id);
        return webhookToWire(endpoint);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/webhooks/:id',
      subject,
      status: 204,
      answer: null,
      summary: 'Delete a webhook endpoint, and what was to be sent to it',
      async run({ id }) {
        if (!(await webhooks.delete(id))) throw notFound('webhook endpoint', id);
        return null;
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/webhooks/:id/test',
      status: 201,
      summary: 'Send a test notice to a webhook endpoint',
      answer: queuedAnswer,
      run: async ({ id }) => sendTest(webhooks, await require(id)),
    }),
    adminEndpoint({
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'List what was sent to a webhook endpoint, and what is to be, newest first',
      query: z.strictObject(page),
      answer: pageOf(deliveryAnswer),
      async run({ id, query: { limit, cursor } }) {
        await require(id);
        const deliveries = await webhooks.listDeliveries(id, cursor ?? null, limit);
        return toPage(deliveries, limit, deliveryToWire, ({ noticeId }) => noticeId);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/webhooks/:id/redeliver',
      status: 201,
      summary: 'Send a notice to a webhook endpoint once more',
      body: redelivery,
      answer: queuedAnswer,
      run: async ({ id, body }) => redeliver(webhooks, await require(id), body.noticeId),
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/low-balance',
      summary: 'Read below which balance an account is told of it',
      answer: lowBalanceAnswer,
      async run({ id }) {
        const found = await webhooks.findLowBalance(id);
        if (found === null) throw notFound('account', id);
        return lowBalanceToWire(id, found, lowBalanceNano());
      },
    }),
    adminEndpoint({
      method: 'PUT',
      path: '/accounts/:id/low-balance',
      summary: 'Set below which balance an account is told of it; null: as configured',
      body: threshold,
      answer: lowBalanceAnswer,
      async run({ id, body }) {
        if (!(await webhooks.setLowBalance(id, body.thresholdYuan))) throw notFound('account', id);
        return lowBalanceToWire(id, { lowBalanceNano: body.thresholdYuan }, lowBalanceNano());
      },
    }),
  ];
}

/** An endpoint that would never get anything is a mistake. */
function requireKinds(accountId: string | null, events: readonly string[] | null): void {
  if (accountId === null || events === null) return;
  const other = events.find((kind) => !(ACCOUNT_KINDS as readonly string[]).includes(kind));
  if (other !== undefined) throw invalidRequest(`events: Accounts do not hear of ${other}.`, 'events');
}
