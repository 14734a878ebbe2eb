import { errors } from '../lib/http-client.ts';
import type { AddressRanges } from '../lib/ip-address.ts';
import { lookupAmong, untilAborted } from '../lib/outgoing/checked-connection.ts';
import { type CheckedTarget, type Resolve, resolveTarget, TargetRefusedError } from '../lib/outgoing/target.ts';
import { programVersion } from '../lib/version.ts';

export type SendResult =
  | { readonly outcome: 'delivered'; readonly status: number | null }
  | {
      readonly outcome: 'failed';
      readonly status: number | null;
      /** Text for the person who configured the receiver. It quotes nothing from the response. */
      readonly error: string;
      /** Whether further attempts would fail, too. */
      readonly isFinal: boolean;
      /** Whether the receiver wants no more notices (HTTP 410). */
      readonly isGone: boolean;
    };

interface SignedNotice {
  readonly noticeId: string;
  readonly url: string;
  readonly secret: string;
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

export type SendWebhook = (notice: SignedNotice, signal: AbortSignal) => Promise<SendResult>;

/** Time limit of an attempt, from resolving the name to the last byte that is read. */
const DEADLINE_MS = 12_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Bytes of a response that are read and discarded, so that most connections close cleanly. */
const BODY_BYTES_MAX = 4 * 1024;
/** Time limit for reading a body. A slow one would occupy a shared slot. */
const BODY_MS = 1_000;
const GONE = 410;

/** Sends webhooks in the format of Standard Webhooks. A connection uses checked addresses, follows no redirect and serves one request. */
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
      return resultOf(await post(target, notice, record, ca));
    } catch (error) {
      // Attempts do not count while the node is stopping.
      signal.throwIfAborted();
      return failed(null, deadline.aborted ? 'The receiver took too long.' : describe(error));
    }
  };
}

async function post(
  { url, addresses }: CheckedTarget,
  notice: SignedNotice,
  signal: AbortSignal,
  ca?: string,
): Promise<number> {
  const { noticeId, secret, payload, at } = notice;
  // The packages are loaded when needed, because many gateways have no webhooks.
  const [{ Client }, { Webhook }] = await Promise.all([import('undici'), import('standardwebhooks')]);
  const client = new Client(url.origin, {
    connect: { lookup: lookupAmong(addresses), ...(ca !== undefined && { ca }) },
    autoSelectFamily: true,
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES_MAX,
  });
  try {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        'content-type': 'application/json',
        'user-agent': `faregate/${programVersion()}`,
        'webhook-id': noticeId,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': new Webhook(secret).sign(noticeId, at, payload),
      },
      body: payload,
      signal,
    });
    // Errors of the body are ignored: the status alone determines the result.
    body.on('error', () => undefined);
    let readBytes = 0;
    const tooLong = setTimeout(() => body.destroy(), BODY_MS);
    try {
      for await (const chunk of body) {
        readBytes += (chunk as Buffer).length;
        if (readBytes > BODY_BYTES_MAX) break;
      }
    } catch {
    } finally {
      clearTimeout(tooLong);
    }
    return statusCode;
  } finally {
    void client.destroy().catch(() => undefined);
  }
}

function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status };
  if (status === GONE) return { ...failed(status, 'The receiver is gone (410).'), isGone: true };
  if (status >= 300 && status < 400)
    return failed(status, `The receiver redirects (${status}); redirects are not followed.`);
  return failed(status, `The receiver responded with status ${status}.`);
}

/** A failure after which the attempt can be repeated. */
export function failed(status: number | null, error: string): SendResult & { readonly outcome: 'failed' } {
  return { outcome: 'failed', status, error, isFinal: false, isGone: false };
}

function describe(error: unknown): string {
  if (error instanceof TargetRefusedError) return error.message;
  if (error instanceof errors.HeadersOverflowError) return 'The headers of the response are too large.';
  const code = (error as { readonly code?: unknown } | null)?.code;
  // Only the error code, a fixed word of Node or its libraries: the message might quote the response.
  return `The receiver could not be reached or sent no valid response${typeof code === 'string' ? ` (${code})` : ''}.`;
}
