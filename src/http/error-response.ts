import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { errorHeaders } from '../errors/headers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { isAwaitingContinue } from './body.ts';
import type { HttpReport } from './http-report.ts';

interface FailedRequest {
  readonly id: string;
  readonly report: HttpReport | null;
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function renderError(error: GatewayError, requestId: string, envelope: Envelope, nowMs: number): ErrorResponse {
  return {
    status: envelope.status(error),
    headers: { ...errorHeaders(error), 'request-id': requestId, 'x-request-id': requestId },
    body: JSON.stringify(envelope.render(error, requestId, nowMs)),
  };
}

/** Reports the error of a failed request and creates the response. An internal error is logged too; clients do not see its details. */
export function responseToFailure(
  thrown: unknown,
  { id, report }: FailedRequest,
  envelope: Envelope,
  response: ServerResponse<IncomingMessage>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ErrorResponse {
  const error = toGatewayError(thrown);
  const details = { err: error, requestId: id };
  if (error.kind === 'internal') logger.error(details, 'a request failed unexpectedly');
  if (error.kind === 'databaseSilent') logger.error(details, 'the database did not respond to a request');
  report?.failed(error);
  // Closes the connection: the client may still send its body, which nobody reads.
  if (isAwaitingContinue(response.req)) response.shouldKeepAlive = false;
  return renderError(error, error.requestId ?? id, envelope, clock.nowMs());
}

/** Converts errors of the framework by their status. */
function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const status = (error as { statusCode?: unknown }).statusCode;
  switch (status) {
    case 400:
      return new GatewayError('invalidRequest', { message: 'The path of the request cannot be decoded.' });
    case 404:
    case 414:
      return new GatewayError('pathUnknown');
    case 413:
      return new GatewayError('requestTooLarge');
    case 415:
      return new GatewayError('unsupportedMediaType');
    default:
      return new GatewayError('internal', { cause: error });
  }
}
