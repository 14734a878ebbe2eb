import { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { formatYuan } from '../../lib/yuan.ts';
import {
  type Delivery,
  type InsertedEndpoint,
  type LowBalance,
  TESTS_A_MINUTE,
  type WebhookEndpoint,
} from '../../notices/endpoint-store.ts';
import { ACCOUNT_KINDS, NOTICE_KINDS, TEST_KIND } from '../../notices/notice.ts';
import { TargetRefusedError } from '../../notices/target.ts';
import { ACCOUNT_ENDPOINTS_MAX, OPERATOR_ENDPOINTS_MAX, type Webhooks } from '../../notices/webhooks.ts';
import { at, count, yuan } from './answer-fields.ts';
import { conflict, notFound, unprocessable } from './endpoint.ts';

/** Webhook endpoints on the wire, as the admin API and the account API have them. */

const url = z
  .string({ error: 'Expected an address such as https://receiver.example/webhook.' })
  .min(1)
  .max(2_000)
  .meta({ examples: ['https://receiver.example/webhook'] });
function eventsOf<const Kind extends string>(kinds: readonly [Kind, ...Kind[]]) {
  return z.array(z.enum(kinds)).min(1).max(kinds.length).nullish();
}

export const operatorEvents = eventsOf(NOTICE_KINDS);
export const accountEvents = eventsOf(ACCOUNT_KINDS);
export const newWebhook = { url };
export const webhookChange = { url: url.optional(), status: z.enum(['active', 'disabled']).optional() };
export const redelivery = z.strictObject({ noticeId: z.string().min(1).max(200) });

export const webhookAnswer = z
  .strictObject({
    id: z.string(),
    accountId: z.string().nullable(),
    url: z.string(),
    events: z.array(z.enum(NOTICE_KINDS)).readonly().nullable(),
    status: z.enum(['active', 'disabled']),
    statusReason: z.string().nullable(),
    failingSince: at.nullable(),
    createdAt: at,
  })
  .meta({ id: 'WebhookEndpoint' });

/** Shown once, when it is made. */
export const newWebhookAnswer = webhookAnswer.extend({ secret: z.string() });

export const deliveryAnswer = z
  .strictObject({
    noticeId: z.string(),
    event: z.enum([...NOTICE_KINDS, TEST_KIND]),
    at,
    status: z.enum(['pending', 'delivered', 'failed']),
    attempts: count,
    nextAttemptAt: at.nullable(),
    lastAttemptAt: at.nullable(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export const queuedAnswer = z.strictObject({ noticeId: z.string() });

export const lowBalanceAnswer = z.strictObject({
  accountId: z.string(),
  thresholdYuan: yuan.nullable(),
  defaultThresholdYuan: yuan.nullable(),
});

export function webhookToWire(endpoint: WebhookEndpoint): z.infer<typeof webhookAnswer> {
  const { id, accountId, url, events, status, statusReason, failingSince, createdAt } = endpoint;
  return {
    id,
    accountId,
    url,
    events,
    status,
    statusReason,
    failingSince: failingSince?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

export function deliveryToWire(delivery: Delivery): z.infer<typeof deliveryAnswer> {
  const { noticeId, kind, at, status, attempts, nextAttemptAt, lastAttemptAt, lastStatus, lastError } = delivery;
  return {
    noticeId,
    event: kind,
    at: at.toISOString(),
    status,
    attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    lastAttemptAt: lastAttemptAt?.toISOString() ?? null,
    lastStatus,
    lastError,
  };
}

export function lowBalanceToWire(
  accountId: string,
  { lowBalanceNano }: LowBalance,
  defaultNano: bigint | null,
): z.infer<typeof lowBalanceAnswer> {
  return {
    accountId,
    thresholdYuan: lowBalanceNano === null ? null : formatYuan(lowBalanceNano),
    defaultThresholdYuan: defaultNano === null ? null : formatYuan(defaultNano),
  };
}

/** @throws GatewayError where none was made. */
export function createdToWire(result: InsertedEndpoint, accountId: string | null): z.infer<typeof newWebhookAnswer> {
  switch (result.outcome) {
    case 'unknown_account':
      throw notFound('account', accountId ?? '');
    case 'key_conflict':
      throw conflict('The Idempotency-Key was used for another endpoint.');
    case 'too_many':
      throw unprocessable(
        `There are ${accountId === null ? OPERATOR_ENDPOINTS_MAX : ACCOUNT_ENDPOINTS_MAX} endpoints already; delete one.`,
      );
    default:
      return { ...webhookToWire(result.endpoint), secret: result.secret };
  }
}

/** Names the field where an address is refused. */
export async function withTarget<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TargetRefusedError) throw invalidRequest(`url: ${error.message}`, 'url');
    throw error;
  }
}

/** Queues a test, or a delivery once more. @throws GatewayError where the endpoint gets nothing. */
function requireActive(endpoint: WebhookEndpoint): WebhookEndpoint {
  if (endpoint.status === 'active') return endpoint;
  throw new GatewayError('conflict', { message: 'The endpoint is disabled; make it active first.' });
}

/** @throws GatewayError 429 where the endpoint has had too many tests. */
export async function sendTest(webhooks: Webhooks, endpoint: WebhookEndpoint): Promise<z.infer<typeof queuedAnswer>> {
  const noticeId = await webhooks.test(requireActive(endpoint));
  if (noticeId !== null) return { noticeId };
  throw new GatewayError('rateLimitExceeded', {
    message: `An endpoint is sent ${TESTS_A_MINUTE} tests a minute at most. Try again later.`,
    headers: { 'retry-after': '60' },
  });
}

/** @throws GatewayError 404 where there was no such notice for the endpoint. */
export async function redeliver(
  webhooks: Webhooks,
  endpoint: WebhookEndpoint,
  noticeId: string,
): Promise<z.infer<typeof queuedAnswer>> {
  if (!(await webhooks.redeliver(requireActive(endpoint), noticeId))) throw notFound('notice', noticeId);
  return { noticeId };
}
