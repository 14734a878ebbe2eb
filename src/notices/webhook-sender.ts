import type { LookupFunction } from 'node:net';
import { errors } from '../lib/http-client.ts';
import type { AddressRanges } from '../lib/ip-address.ts';
import { programVersion } from '../lib/version.ts';
import { type CheckedTarget, type Resolve, resolveTarget, TargetRefusedError } from './target.ts';

/** What became of an attempt. */
export type SendResult =
  | { readonly outcome: 'delivered'; readonly status: number | null }
  | {
      readonly outcome: 'failed';
      readonly status: number | null;
      /** In words for whoever set the receiver: nothing of what the other side said. */
      readonly error: string;
      /** Whether another attempt would fail too. */
      readonly isFinal: boolean;
      /** Whether the receiver wants nothing any more. */
      readonly isGone: boolean;
    };

/** A notice for an endpoint. */
interface SignedNotice {
  readonly noticeId: string;
  readonly url: string;
  /** Secret. */
  readonly secret: string;
  readonly payload: string;
  readonly at: Date;
}

interface WebhookSenderParts {
  /** The networks that the operator allows beside the public internet. */
  readonly allowed: () => AddressRanges;
  readonly resolve: Resolve;
  /** For tests: how long an attempt may take. */
  readonly deadlineMs?: number;
  /** For tests: the authority of a receiver's certificate. */
  readonly ca?: string;
}

export type SendWebhook = (notice: SignedNotice, signal: AbortSignal) => Promise<SendResult>;

/** From the question to the name server to the last byte that is read. */
const DEADLINE_MS = 12_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** What is read of a response's body, so that most connections end in good order. Nothing is done with it. */
const BODY_BYTES_MAX = 4 * 1024;
/** How long is waited for it: a body that trickles would keep one of the places at which all receivers are served. */
const BODY_MS = 1_000;
const GONE = 410;

/**
 * Creates what sends signed notices by the Standard Webhooks specification. A connection goes to the very addresses that were
 * checked, follows no redirect, and ends with its one request.
 */
export function createWebhookSender({
  allowed,
  resolve,
  deadlineMs = DEADLINE_MS,
  ca,
}: WebhookSenderParts): SendWebhook {
  return async (notice, signal) => {
    const deadline = AbortSignal.timeout(deadlineMs);
    const record = AbortSignal.any([signal, deadline]);
    try {
      const target = await untilAborted(resolveTarget(notice.url, allowed(), resolve, record), record);
      return resultOf(await post(target, notice, record, ca));
    } catch (error) {
      // The node stops: the attempt does not count.
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
  // Libraries that a gateway without receivers does without.
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
    // The status says all, so an end that never comes changes nothing.
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

/** Names of hosts are looked up nowhere any more: a name server might say something else this time. */
function lookupAmong(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_hostname, options, done) => {
    if (options.all) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  };
}

function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status };
  if (status === GONE) return { ...failed(status, 'The receiver is gone (410).'), isGone: true };
  if (status >= 300 && status < 400)
    return failed(status, `The receiver redirects (${status}); redirects are not followed.`);
  return failed(status, `The receiver responded with status ${status}.`);
}

/** An attempt that has failed, and that may be made again. */
export function failed(status: number | null, error: string): SendResult & { readonly outcome: 'failed' } {
  return { outcome: 'failed', status, error, isFinal: false, isGone: false };
}

function describe(error: unknown): string {
  if (error instanceof TargetRefusedError) return error.message;
  if (error instanceof errors.HeadersOverflowError) return 'The headers of the response are too large.';
  const code = (error as { readonly code?: unknown } | null)?.code;
  // Codes are fixed words of Node and its libraries; messages may quote what the other side sent.
  return `The receiver was not reached, or sent no usable response${typeof code === 'string' ? ` (${code})` : ''}.`;
}

/** The result of work that cannot be aborted, and is left to itself then. @throws the signal's reason. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
