import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { TargetRefusedError } from '../../lib/outgoing/target.ts';
import type { InsertedEndpoint, WebhookEndpoint } from '../../notices/endpoint-store.ts';
import { ASKED_SENDS_A_MINUTE } from '../../notices/send-rates.ts';
import { ACCOUNT_ENDPOINTS_MAX, OPERATOR_ENDPOINTS_MAX, type Webhooks } from '../../notices/webhooks.ts';
import { type ChangeSubject, conflict, notFound, orNotFound, Repeat } from '../management/endpoint.ts';
import { toPage } from '../management/wire.ts';
import {
  deliveryToWire,
  lowBalanceToWire,
  type NewWebhookResponse,
  type QueuedResponse,
  webhookToWire,
} from './wire.ts';

export interface WebhookAdminDependencies {
  readonly webhooks: Webhooks;
  readonly lowBalanceNano: () => bigint | null;
}

interface Page {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export function webhookKeeper({ webhooks, lowBalanceNano }: WebhookAdminDependencies) {
  const find = async (id: string): Promise<WebhookEndpoint> =>
    orNotFound(await webhooks.find(id), 'webhook endpoint', id);

  const subject: ChangeSubject = { kind: 'webhook', read: async (id) => webhookToWire(await find(id)) };

  return {
    subject,
    find,
    list: async (accountId: string | null, { limit, cursor }: Page) =>
      toPage((await webhooks.list(accountId, cursor ?? null, limit)).map(webhookToWire), limit, ({ id }) => id),
    create: async (asked: Parameters<Webhooks['create']>[0]) =>
      createdToWire(await withTarget(async () => webhooks.create(asked)), asked.accountId),
    async change(id: string, change: Parameters<Webhooks['update']>[1]) {
      const endpoint = await withTarget(() => webhooks.update(id, change));
      return webhookToWire(orNotFound(endpoint, 'webhook endpoint', id));
    },
    async delete(id: string): Promise<void> {
      if (!(await webhooks.delete(id))) throw notFound('webhook endpoint', id);
    },
    async listDeliveries(id: string, { limit, cursor }: Page) {
      await find(id);
      const deliveries = await webhooks.listDeliveries(id, cursor ?? null, limit);
      return toPage(deliveries.map(deliveryToWire), limit, ({ noticeId }) => noticeId);
    },
    /** Sends a test. @throws GatewayError 404 if the webhook does not exist; 429 if there were too many tests */
    async test(id: string): Promise<QueuedResponse> {
      const noticeId = await webhooks.test(requireActive(await find(id)));
      if (noticeId !== null) return { noticeId };
      throw tooManySends();
    },
    /** Sends a notice again. @throws GatewayError 404 if the webhook does not exist or never got the notice; 429 like `test` */
    async redeliver(id: string, noticeId: string): Promise<QueuedResponse> {
      const redelivery = await webhooks.redeliver(requireActive(await find(id)), noticeId);
      if (redelivery === 'too_many') throw tooManySends();
      if (redelivery === 'absent') throw notFound('notice', noticeId);
      return { noticeId };
    },
    async readLowBalance(accountId: string) {
      const found = orNotFound(await webhooks.findLowBalance(accountId), 'account', accountId);
      return lowBalanceToWire(accountId, found, lowBalanceNano());
    },
    async setLowBalance(accountId: string, thresholdNano: bigint | null) {
      if (!(await webhooks.setLowBalance(accountId, thresholdNano))) throw notFound('account', accountId);
      return lowBalanceToWire(accountId, { lowBalanceNano: thresholdNano }, lowBalanceNano());
    },
  };
}

function createdToWire(
  result: InsertedEndpoint,
  accountId: string | null,
): NewWebhookResponse | Repeat<NewWebhookResponse> {
  switch (result.outcome) {
    case 'unknown_account':
      throw notFound('account', accountId ?? '');
    case 'key_conflict':
      throw conflict('The Idempotency-Key was used for another endpoint.');
    case 'too_many':
      throw conflict(
        `There are ${accountId === null ? OPERATOR_ENDPOINTS_MAX : ACCOUNT_ENDPOINTS_MAX} endpoints already, which is the limit. Delete one first.`,
      );
    default:
      return Repeat.if(result.outcome === 'repeated', { ...webhookToWire(result.endpoint), secret: result.secret });
  }
}

/** Converts the error of a refused address, so that it names the field. */
async function withTarget<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TargetRefusedError) throw invalidRequest(`url: ${error.message}`, 'url');
    throw error;
  }
}

function requireActive(endpoint: WebhookEndpoint): WebhookEndpoint {
  if (endpoint.status === 'active') return endpoint;
  throw conflict('The endpoint is disabled. Enable it first.');
}

function tooManySends(): GatewayError {
  return new GatewayError('rateLimitExceeded', {
    message: `At most ${ASKED_SENDS_A_MINUTE} notices may be tested or resent per minute. Try again later.`,
    headers: { 'retry-after': '60' },
  });
}
