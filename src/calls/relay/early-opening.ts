import { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import type { Call } from '../call.ts';
import { relayedHeaders, withoutServed } from './call-headers.ts';
import { KEEP_ALIVE_COMMENT, KeepAlive } from './keep-alive.ts';

/**
 * Starts the comments of a stream whose model or operation has `keepAlive` (`docs/routing.md`): if the provider is silent, the response
 * opens before the provider's does. Returns `null` if neither has it, or the response is no stream.
 */
export function startKeepAlive(call: Call): KeepAlive | null {
  const { input, model, fallback, client, requestId } = call;
  if (!input.isStream) return null;
  const keepAliveMs = (fallback?.asked ?? model).keepAliveMs ?? ofOperation(call);
  if (keepAliveMs === null) return null;
  return new KeepAlive(keepAliveMs, () => {
    if (client.isGone || client.isBehind) return;
    if (!client.hasBegun) client.open({ ...openingHeaders(requestId), ...withoutServed(client.headers) });
    client.comment(KEEP_ALIVE_COMMENT);
  });
}

function ofOperation({ settings, policy }: Call): number | null {
  const byOperation: Readonly<Record<string, { readonly before: number } | undefined>> | undefined =
    settings.config.server.keepAlive;
  return byOperation?.[policy.operation.name]?.before ?? null;
}

function openingHeaders(requestId: string): Record<string, string> {
  return {
    ...relayedHeaders({}, 'text/event-stream; charset=utf-8', requestId),
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  };
}

/** The error of a stream that was opened early. Its status could not be sent, so the words contain it. */
export function withStatus(error: GatewayError, { protocol }: Pick<Operation, 'protocol'>): GatewayError {
  const { kind, message, status, messagesStatus, code, type, param, retry, cause } = error;
  const ofResponse = protocol.name === 'messages' ? messagesStatus : status;
  return new GatewayError(kind, {
    message: `${message} (status ${ofResponse})`,
    status,
    code,
    retry,
    cause,
    ...(type !== undefined && { type }),
    ...(param !== null && { param }),
  });
}
