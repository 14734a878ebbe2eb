import type { Envelope, RenderStreamError } from '../../errors/envelopes.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';

export interface ChatErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

/** Error format of the plan usage and balance endpoints (contract, section 7): the chat format without `param`. */
interface UsageErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly type: string };
}

/** The error members that Cohere's clients display. */
interface CohereErrorBody {
  readonly id: string;
  readonly message: string;
}

export function renderChat(error: GatewayError): ChatErrorBody {
  return { error: { message: error.message, type: chatType(error), param: error.param, code: error.code } };
}

export const chatEnvelope: Envelope<ChatErrorBody> = {
  name: 'chat',
  status: ({ status }) => status,
  render: renderChat,
};

export const usageEnvelope: Envelope<UsageErrorBody> = {
  name: 'usage',
  status: ({ status }) => status,
  render: (error) => ({ error: { code: error.code, message: error.message, type: chatType(error) } }),
};

export const cohereEnvelope: Envelope<CohereErrorBody> = {
  name: 'cohere',
  status: ({ status }) => status,
  render: ({ message }, id) => ({ id, message }),
};

/** Chat streams have no event names, so neither have errors in them. */
export const chatStreamError: RenderStreamError = (error) => `data: ${JSON.stringify(renderChat(error))}\n\n`;

function chatType(error: GatewayError): string {
  if (error.isMoney) return 'insufficient_quota';
  switch (error.status) {
    case 401:
      return 'authentication_error';
    case 402:
      return 'insufficient_quota';
    case 403:
      return 'permission_error';
    case 409:
      return 'conflict_error';
    case 429:
      return 'rate_limit_error';
    default:
      return error.status >= 500 ? 'api_error' : 'invalid_request_error';
  }
}
