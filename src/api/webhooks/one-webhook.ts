import { z } from 'zod';
import type { ManagementDefinition } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page } from '../management/wire.ts';
import type { webhookKeeper } from './webhook-keeper.ts';
import { deliveryResponse, queuedResponse, redelivery, webhookResponse, webhookToWire } from './wire.ts';

type Row<Query extends z.ZodType, Body extends z.ZodType, Response extends z.ZodType | null> = Omit<
  ManagementDefinition<never, unknown, Query, Body, Response>,
  'needs'
>;

/** What the audit log records of a new secret, which the endpoint does not show. */
function notedSecret({ body }: { readonly body: unknown }): object | null {
  return (body as { readonly secret?: string | null }).secret === undefined ? null : { isSecretReplaced: true };
}

/** Endpoints for a webhook, which both APIs have. Only the fields that can be changed differ. */
export function oneWebhookEndpoints<Endpoint, Change extends z.ZodType>(
  keeper: ReturnType<typeof webhookKeeper>,
  make: <
    Query extends z.ZodType = z.ZodUnknown,
    Body extends z.ZodType = z.ZodUnknown,
    Response extends z.ZodType | null = null,
  >(
    row: Row<Query, Body, Response>,
  ) => Endpoint,
  change: Required<Pick<Row<z.ZodUnknown, Change, typeof webhookResponse>, 'body' | 'run'>>,
): Endpoint[] {
  const { subject } = keeper;
  return [
    make({
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Read a webhook endpoint',
      response: webhookResponse,
      run: async ({ id }) => webhookToWire(await keeper.find(id)),
    }),
    make({
      method: 'PATCH',
      path: '/webhooks/:id',
      subject: { ...subject, noted: notedSecret },
      summary: 'Change, disable or enable a webhook endpoint',
      response: webhookResponse,
      ...change,
    }),
    make({
      method: 'DELETE',
      path: '/webhooks/:id',
      subject,
      summary: 'Delete a webhook endpoint and its pending deliveries',
      run: ({ id }) => keeper.delete(id),
    }),
    make({
      method: 'POST',
      path: '/webhooks/:id/test',
      subject,
      status: 201,
      summary: 'Send a test notice to a webhook endpoint',
      response: queuedResponse,
      run: ({ id }) => keeper.test(id),
    }),
    make({
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      summary: 'List past and pending deliveries of a webhook endpoint, newest first',
      query: z.strictObject(page),
      response: pageOf(deliveryResponse),
      run: ({ id, query }) => keeper.listDeliveries(id, query),
    }),
    make({
      method: 'POST',
      path: '/webhooks/:id/redeliver',
      subject,
      status: 201,
      summary: 'Resend a notice to a webhook endpoint',
      body: redelivery,
      response: queuedResponse,
      run: ({ id, body }) => keeper.redeliver(id, body.noticeId),
    }),
  ];
}
