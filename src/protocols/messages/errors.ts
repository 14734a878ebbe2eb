import type { Envelope, RenderStreamError } from '../../errors/envelopes.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';

interface MessagesErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: string;
    readonly message: string;
    /** Contains the code: the format itself has no member for it. The vendor's clients read it here. */
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

export const messagesStreamError: RenderStreamError = (error, requestId) =>
  `event: error\ndata: ${JSON.stringify(renderMessages(error, requestId))}\n\n`;

function messagesType(error: GatewayError): string {
  if (error.type !== undefined) return error.type;
  if (error.isMoney) return 'billing_error';
  const known = TYPES[error.messagesStatus];
  return known ?? (error.messagesStatus >= 500 ? 'api_error' : 'invalid_request_error');
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
