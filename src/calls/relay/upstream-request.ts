import type { RequestBody } from '../../protocols/operations/operation.ts';
import { withoutCarriers } from '../../protocols/translation/without-carriers.ts';
import type { UpstreamRequest } from '../../providers/upstream/exchange.ts';
import { forwardedHeaders, upstreamHeaders } from '../../providers/upstream/headers.ts';
import type { IsRefusal } from '../../providers/upstream/stream-refusal.ts';
import type { Call } from '../call.ts';
import { type OpenAttempt, traceHeaders } from '../call-trace.ts';

const NO_HEADERS = {};

export interface Attempt {
  readonly credential: string;
  /** Whether the call is tried elsewhere after an error as the first event of a stream; `null`: no other attempt is left. */
  readonly isRefusal: IsRefusal | null;
  /** Longest wait for the first byte; `null`: as long as the provider allows. */
  readonly firstByteMs: number | null;
}

export function upstreamRequest(
  call: Call,
  { credential, firstByteMs }: Attempt,
  open: OpenAttempt | null,
): UpstreamRequest {
  const { input, principal, settings, report, operation, route, translation } = call;
  const { upstreamPath } = operation;
  const provider = settings.providers.get(route.providerId);
  const mountedNames = settings.config.server.protocolNames[operation.protocol.name];
  // Version and beta headers of a client mean nothing in another protocol.
  const clientHeaders = translation === null ? call.requestHeaders : NO_HEADERS;
  const body = input.toProvider(route.providerModel);
  const forwarded = provider.forwards.length === 0 ? undefined : forwardedHeaders(provider, call.requestHeaders);
  const more = provider.passesTraceContext ? { ...forwarded, ...traceHeaders(report, open) } : forwarded;
  return {
    provider,
    account: principal,
    path: upstreamPath,
    headers: upstreamHeaders(provider, credential, clientHeaders, mountedNames, input, more),
    body: translation === null && call.hasCarriers ? withoutCarriersIn(body) : body,
    ...(firstByteMs !== null && { silenceMs: firstByteMs }),
    ...(provider.followsVendorLimits && { onHeaders: (headers) => call.rotation.received(headers) }),
  };
}

/** Reasoning of a translated call means nothing to a provider that speaks the client's protocol. */
function withoutCarriersIn(body: RequestBody): RequestBody {
  return Buffer.isBuffer(body) ? withoutCarriers(body) : body;
}
