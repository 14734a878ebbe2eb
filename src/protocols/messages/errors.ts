import type { Envelope, RenderStreamError } from '../../errors/envelopes.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';

/** Errors of the messages protocol (contract, section 7). */
interface MessagesErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: string;
    readonly message: string;
    /** The envelope has no `code`; this is where the vendor's own clients look for one. */
    readonly details: { readonly error_code: string };
  };
  readonly request_id: string;
}

export function renderMessages(error: GatewayError, requestId: string): MessagesErrorBody {
  return {
    type: 'error',
    error: { type: messagesType(error), message: error.message, details: { error_code: error.code } },
    request_id: requestId,
  };
}

export const messagesEnvelope: Envelope<MessagesErrorBody> = {
  name: 'messages',
  status: ({ messagesStatus }) => messagesStatus,
  render: renderMessages,
};

/** The envelope as an event named `error`. */
export const messagesStreamError: RenderStreamError = (error, requestId) =>
  `event: error\ndata: ${JSON.stringify(renderMessages(error, requestId))}\n\n`;

function messagesType(error: GatewayError): string {
  if (error.type !== undefined) return error.type;
  if (error.isMoney) return 'billing_error';
  switch (error.messagesStatus) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'billing_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 409:
      return 'conflict_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit_error';
    case 504:
      return 'timeout_error';
    case 529:
      return 'overloaded_error';
    default:
      return error.messagesStatus >= 500 ? 'api_error' : 'invalid_request_error';
  }
}
