import { z } from 'zod';
import type { Delivery, WebhookEndpoint } from '../../notices/endpoint-store.ts';
import { FORMS, shownUrl } from '../../notices/messengers.ts';
import { ACCOUNT_KINDS, NOTICE_KINDS, TEST_KIND } from '../../notices/notice.ts';
import { LANGUAGES } from '../../notices/notice-words.ts';
import type { LowBalance } from '../../notices/threshold-store.ts';
import { at, count, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { storable } from '../management/storable.ts';
import { capYuan, yuanOrNull } from '../management/wire.ts';

const url = storable(
  z.string({ error: 'Expected an address such as https://receiver.example/webhook.' }).min(1).max(2_000),
).meta({ examples: ['https://receiver.example/webhook'] });
function eventsOf<const Kind extends string>(kinds: readonly [Kind, ...Kind[]]) {
  return z.array(z.enum(kinds)).min(1).max(kinds.length).nullish();
}

export const operatorEvents = eventsOf(NOTICE_KINDS);
export const accountEvents = eventsOf(ACCOUNT_KINDS);
const language = z
  .enum(LANGUAGES)
  .nullish()
  .describe('Language of messages to a messenger; null: `notices.language` of the configuration.');
const secret = storable(z.string().max(200)).nullish();

export const newWebhook = {
  url,
  form: z
    .enum(FORMS)
    .default('faregate')
    .describe('`faregate`: signed JSON. Otherwise the messenger whose robot posts the notices as messages.'),
  secret: secret.describe('Secret with which a robot of Feishu or DingTalk verifies requests.'),
  language,
};
export const webhookChange = {
  url: url.optional(),
  secret: secret.describe('Secret of a robot of Feishu or DingTalk; null removes it.'),
  language,
  status: z.enum(['active', 'disabled']).optional(),
};
export const threshold = z.strictObject({ thresholdYuan: capYuan.nullable() });
export const redelivery = z.strictObject({ noticeId: storable(z.string().min(1).max(200)) });

export const webhookResponse = z
  .strictObject({
    id: z.string(),
    accountId: z.string().nullable(),
    url: z.string().describe('For a messenger, only the beginning and the end: its address contains a secret.'),
    form: z.enum(FORMS),
    language: z.enum(LANGUAGES).nullable(),
    isSigned: z.boolean().describe('Whether requests are signed.'),
    events: z.array(z.enum(NOTICE_KINDS)).readonly().nullable(),
    status: z.enum(['active', 'disabled']),
    statusReason: z.string().nullable(),
    failingSince: at.nullable(),
    createdAt: at,
  })
  .meta({ id: 'WebhookEndpoint' });
export type WebhookResponse = z.infer<typeof webhookResponse>;

export const newWebhookResponse = webhookResponse.extend({
  secret: z.string().nullable().describe('The secret that signs notices; null for a messenger.'),
});
export type NewWebhookResponse = z.infer<typeof newWebhookResponse>;

export const deliveryResponse = z
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
export type DeliveryResponse = z.infer<typeof deliveryResponse>;

export const queuedResponse = z.strictObject({ noticeId: z.string() });
export type QueuedResponse = z.infer<typeof queuedResponse>;

export const lowBalanceResponse = z.strictObject({
  accountId: z.string(),
  thresholdYuan: yuan.nullable(),
  defaultThresholdYuan: yuan.nullable(),
  hasMail: z.boolean().describe('Whether notices are also sent by mail: the gateway has a mail server.'),
});
export type LowBalanceResponse = z.infer<typeof lowBalanceResponse>;

export function webhookToWire(endpoint: WebhookEndpoint): WebhookResponse {
  return shown(webhookResponse, { ...endpoint, url: shownUrl(endpoint.form, endpoint.url) });
}

export function deliveryToWire(delivery: Delivery): DeliveryResponse {
  return shown(deliveryResponse, { ...delivery, event: delivery.kind });
}

export function lowBalanceToWire(
  accountId: string,
  { lowBalanceNano }: LowBalance,
  defaultNano: bigint | null,
  hasMail: boolean,
): LowBalanceResponse {
  return {
    accountId,
    thresholdYuan: yuanOrNull(lowBalanceNano),
    defaultThresholdYuan: yuanOrNull(defaultNano),
    hasMail,
  };
}
