import type { GatewayError } from './gateway-error.ts';

/**
 * The wire envelopes of errors (contract, section 7; `type` values: design 5.12). Pure: an error in, a body out.
 */
export interface ChatErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

export interface MessagesErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: string;
    readonly message: string;
    /** The envelope has no `code`; this is where the vendor's own clients look for one (design 5.6). */
    readonly details: { readonly error_code: string };
  };
  readonly request_id: string;
}

/** The envelope of the addresses that answer what is left (contract, section 7): the chat one without `param`. */
export interface UsageErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly type: string };
}

export interface AdminErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

export interface CatalogErrorBody {
  readonly code: string;
  readonly message: string;
  readonly success: false;
  /** ISO 8601. */
  readonly timestamp: string;
}

/** Which envelope an address answers in. */
export type Envelope = CallEnvelope | 'usage' | 'admin' | 'catalog';

/** The envelopes of addresses that call providers, in answers and in streams. */
export type CallEnvelope = 'chat' | 'messages';

export function renderChat(error: GatewayError): ChatErrorBody {
  return { error: { message: error.message, type: chatType(error), param: error.param, code: error.code } };
}

export function renderMessages(error: GatewayError, requestId: string): MessagesErrorBody {
  return {
    type: 'error',
    error: { type: messagesType(error), message: error.message, details: { error_code: error.code } },
    request_id: requestId,
  };
}

export function renderUsage(error: GatewayError): UsageErrorBody {
  return { error: { code: error.code, message: error.message, type: chatType(error) } };
}

export function renderAdmin(error: GatewayError): AdminErrorBody {
  return { error: { code: error.code, message: error.message, param: error.param } };
}

/** The public catalog has codes of its own for the two errors that the contract lists (section 7). */
export function renderCatalog(error: GatewayError, nowMs: number): CatalogErrorBody {
  const code = error.status === 405 ? 'COMMON_004' : error.status >= 500 ? 'COMMON_001' : error.code;
  return { code, message: error.message, success: false, timestamp: new Date(nowMs).toISOString() };
}

/** The error's status in the given envelope. */
export function statusIn(envelope: Envelope, error: GatewayError): number {
  return envelope === 'messages' ? error.messagesStatus : error.status;
}

/** The error's body in the given envelope. */
export function renderError(
  envelope: Envelope,
  error: GatewayError,
  requestId: string,
  nowMs: number,
): ChatErrorBody | MessagesErrorBody | UsageErrorBody | AdminErrorBody | CatalogErrorBody {
  switch (envelope) {
    case 'chat':
      return renderChat(error);
    case 'messages':
      return renderMessages(error, requestId);
    case 'usage':
      return renderUsage(error);
    case 'admin':
      return renderAdmin(error);
    case 'catalog':
      return renderCatalog(error, nowMs);
  }
}

/**
 * How the streams of an operation say that they failed:
 * - `chat`: an event without a name, as everything in a chat stream (wire facts 1.5).
 * - `messages`: the envelope as an event named `error` (5.3).
 * - `typed`: an event named `error` whose data are the error itself and say so in their `type`, as in the streams of
 *   responses and images (contract, section 6; wire facts 2.2).
 */
export type StreamErrorForm = 'chat' | 'messages' | 'typed';

/** The error as an event inside a stream that has already begun. None of the forms can be taken for a complete stream. */
export function renderStreamError(form: StreamErrorForm, error: GatewayError, requestId: string): string {
  switch (form) {
    case 'chat':
      return `data: ${JSON.stringify(renderChat(error))}\n\n`;
    case 'messages':
      return `event: error\ndata: ${JSON.stringify(renderMessages(error, requestId))}\n\n`;
    case 'typed': {
      const { error: body } = renderChat(error);
      const { code, message, param } = body;
      return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, error: body })}\n\n`;
    }
  }
}

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
