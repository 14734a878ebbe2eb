import type { Config } from '../../config/schema.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { TargetRefusedError } from '../../lib/outgoing/target.ts';
import type { EndpointChange, InsertedEndpoint, WebhookEndpoint } from '../../notices/endpoint-store.ts';
import { type Form, MESSENGERS } from '../../notices/messengers.ts';
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
  readonly config: () => Config;
}

interface Page {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface AskedWebhook
  extends Pick<Parameters<Webhooks['create']>[0], 'accountId' | 'url' | 'form' | 'idempotencyKey'> {
  readonly secret?: string | null | undefined;
  readonly language?: WebhookEndpoint['language'] | undefined;
  readonly events?: WebhookEndpoint['events'] | undefined;
}

interface AskedChange extends Omit<EndpointChange, 'secret'> {
  readonly secret?: string | null | undefined;
}

export function webhookKeeper({ webhooks, lowBalanceNano, config }: WebhookAdminDependencies) {
  const find = async (id: string): Promise<WebhookEndpoint> =>
    orNotFound(await webhooks.find(id), 'webhook endpoint', id);

  const hasMail = (): boolean => config().mail !== undefined;
  const subject: ChangeSubject = { kind: 'webhook', read: async (id) => webhookToWire(await find(id)) };

  return {
    subject,
    find,
    list: async (accountId: string | null, { limit, cursor }: Page) =>
      toPage((await webhooks.list(accountId, cursor ?? null, limit)).map(webhookToWire), limit, ({ id }) => id),
    async create({ secret = null, language = null, events = null, ...asked }: AskedWebhook) {
      requireMessenger(asked.form, secret, language);
      const result = await withTarget(async () => webhooks.create({ ...asked, secret, language, events }));
      return createdToWire(result, asked.accountId);
    },
    async change(id: string, { secret, ...change }: AskedChange) {
      const { form } = await find(id);
      requireMessenger(form, secret ?? null, change.language ?? null);
      const given = secret === undefined || form === 'faregate' ? {} : { secret: secret ?? '' };
      const endpoint = await withTarget(() => webhooks.update(id, form, { ...change, ...given }));
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
      return lowBalanceToWire(accountId, found, lowBalanceNano(), hasMail());
    },
    async setLowBalance(accountId: string, thresholdNano: bigint | null) {
      if (!(await webhooks.setLowBalance(accountId, thresholdNano))) throw notFound('account', accountId);
      return lowBalanceToWire(accountId, { lowBalanceNano: thresholdNano }, lowBalanceNano(), hasMail());
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
      return Repeat.if(result.outcome === 'repeated', {
        ...webhookToWire(result.endpoint),
        secret: result.endpoint.form === 'faregate' ? result.secret : null,
      });
  }
}

/** Refuses what only messengers have. @throws GatewayError 400 */
function requireMessenger(form: Form, secret: string | null, language: string | null): void {
  if (form === 'faregate' && language !== null)
    throw invalidRequest('language: Signed JSON has no language.', 'language');
  if (secret !== null && secret !== '' && (form === 'faregate' || !MESSENGERS[form].hasSecret))
    throw invalidRequest('secret: Only robots of Feishu and DingTalk have a secret.', 'secret');
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
