import { errors } from '../lib/http-client.ts';
import type { AddressRanges } from '../lib/ip-address.ts';
import { lookupAmong, untilAborted } from '../lib/outgoing/checked-connection.ts';
import { type CheckedTarget, type Resolve, resolveTarget, TargetRefusedError } from '../lib/outgoing/target.ts';
import { programVersion } from '../lib/version.ts';
import { type Form, MESSENGERS, messengerResult, type WebhookResponse } from './messengers.ts';
import { failed, type SendResult } from './send-result.ts';

interface OutgoingNotice {
  readonly noticeId: string;
  readonly form: Form;
  readonly url: string;
  readonly secret: string;
  /** The JSON to sign or, for a messenger, the text of the message. */
  readonly payload: string;
  readonly at: Date;
}

interface WebhookSenderDependencies {
  /** Networks that are allowed in addition to the public internet. */
  readonly allowed: () => AddressRanges;
  readonly resolve: Resolve;
  readonly deadlineMs?: number;
  readonly ca?: string;
}

export type SendWebhook = (notice: OutgoingNotice, signal: AbortSignal) => Promise<SendResult>;

/** Time limit of an attempt, from resolving the name to the last byte that is read. */
const DEADLINE_MS = 12_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Bytes of a response that are read. Only messengers say in the body whether they accepted a message. */
const BODY_BYTES_MAX = 4 * 1024;
/** Time limit for reading a body. A slow one would occupy a shared slot. */
const BODY_MS = 1_000;
const GONE = 410;

/** Sends webhooks, in the format of Standard Webhooks or of a messenger. A connection uses checked addresses, follows no redirect and serves one request. */
export function createWebhookSender({
  allowed,
  resolve,
  deadlineMs = DEADLINE_MS,
  ca,
}: WebhookSenderDependencies): SendWebhook {
  return async (notice, signal) => {
    const deadline = AbortSignal.timeout(deadlineMs);
    const record = AbortSignal.any([signal, deadline]);
    try {
      const target = await untilAborted(resolveTarget(notice.url, allowed(), resolve, record), record);
      const response = await post(target, notice, record, ca);
      return notice.form === 'faregate' ? resultOf(response.status) : messengerResult(notice.form, response);
    } catch (error) {
      // Attempts do not count while the node is stopping.
      signal.throwIfAborted();
      return failed(null, deadline.aborted ? 'The receiver took too long.' : describe(error));
    }
  };
}

async function post(
  { url, addresses }: CheckedTarget,
  notice: OutgoingNotice,
  signal: AbortSignal,
  ca?: string,
): Promise<WebhookResponse> {
  // The package is loaded when needed, because many gateways have no webhooks.
  const { Client } = await import('undici');
  const { path, headers: signature, body: sent } = await requestOf(url, notice);
  const client = new Client(url.origin, {
    connect: { lookup: lookupAmong(addresses), ...(ca !== undefined && { ca }) },
    autoSelectFamily: true,
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', 'user-agent': `faregate/${programVersion()}`, ...signature },
      body: sent,
      signal,
    });
    // Errors of the body are ignored: without it, a messenger has not accepted the message.
    body.on('error', () => undefined);
    const chunks: Buffer[] = [];
    let readBytes = 0;
    const tooLong = setTimeout(() => body.destroy(), BODY_MS);
    try {
      for await (const chunk of body) {
        chunks.push(chunk as Buffer);
        readBytes += (chunk as Buffer).length;
        if (readBytes > BODY_BYTES_MAX) break;
      }
    } catch {
    } finally {
      clearTimeout(tooLong);
    }
    const retryAfter = headers['retry-after'];
    return {
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
      text: Buffer.concat(chunks).toString(),
    };
  } finally {
    void client.destroy().catch(() => undefined);
  }
}

async function requestOf(url: URL, { form, noticeId, secret, payload, at }: OutgoingNotice) {
  if (form !== 'faregate') return { ...MESSENGERS[form].requestOf({ url, secret, text: payload, at }), headers: {} };
  const { Webhook } = await import('standardwebhooks');
  return {
    path: url.pathname + url.search,
    headers: {
      'webhook-id': noticeId,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(noticeId, at, payload),
    },
    body: payload,
  };
}

function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status };
  if (status === GONE) return { ...failed(status, 'The receiver is gone (410).'), isGone: true };
  if (status >= 300 && status < 400)
    return failed(status, `The receiver redirects (${status}); redirects are not followed.`);
  return failed(status, `The receiver responded with status ${status}.`);
}

function describe(error: unknown): string {
  if (error instanceof TargetRefusedError) return error.message;
  if (error instanceof errors.HeadersOverflowError) return 'The headers of the response are too large.';
  const code = (error as { readonly code?: unknown } | null)?.code;
  // Only the error code, a fixed word of Node or its libraries: the message might quote the response.
  return `The receiver could not be reached or sent no valid response${typeof code === 'string' ? ` (${code})` : ''}.`;
}
