import { type ErrorKind, type ErrorRow, errorCatalogue, type RetryAdvice } from './catalogue.ts';

export interface GatewayErrorOptions {
  /** Message for the client. It must not contain hosts, credentials or internal names. */
  readonly message?: string;
  /** Message for the log and for records of refusals, if `message` names an end user. Default: `message`. */
  readonly recordedMessage?: string;
  /** Name of the invalid field, such as `messages` or `stream_options.include_usage`. */
  readonly param?: string;
  /** Single lines for the admin envelope, such as the problems of a text. */
  readonly details?: readonly string[];
  /** Status instead of that in the catalogue, for example the provider's. */
  readonly status?: number;
  readonly code?: string;
  /** The provider's `error.type`, which the messages format contains unchanged. */
  readonly type?: string;
  readonly retry?: RetryAdvice;
  /** When the limit admits calls again, in epoch milliseconds. */
  readonly resetAtMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The provider's id of the call, which becomes the request id of the response. */
  readonly requestId?: string;
  /** Cause of the error, which is only logged. */
  readonly cause?: unknown;
}

/** An error for the client. The HTTP layer formats it for the address. */
export class GatewayError extends Error {
  readonly kind: ErrorKind;
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly recordedMessage: string;
  readonly details: readonly string[] | undefined;
  readonly type: string | undefined;
  readonly retry: RetryAdvice;
  /** When the limit admits calls again; `null`: unknown, or waiting does not help. */
  readonly resetAtMs: number | null;
  readonly isMoney: boolean;
  readonly messagesStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string | null;

  constructor(kind: ErrorKind, options: GatewayErrorOptions = {}) {
    const row: ErrorRow = errorCatalogue[kind];
    super(messageOf(row, options), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.kind = kind;
    this.status = options.status ?? row.status;
    this.code = options.code ?? row.code;
    this.param = options.param === undefined ? null : quoted(options.param);
    this.recordedMessage = options.recordedMessage ?? this.message;
    this.details = options.details;
    this.type = options.type;
    this.retry = options.retry ?? row.retry;
    this.resetAtMs = options.resetAtMs ?? null;
    this.isMoney = row.isMoney === true;
    this.messagesStatus = options.status ?? row.messagesStatus ?? row.status;
    this.headers = options.headers ?? {};
    this.requestId = options.requestId ?? null;
  }
}

/** Maximum length of a quoted text. Otherwise a large request could cause a large response. */
const QUOTE_LENGTH_MAX = 200;

const MESSAGE_LENGTH_MAX = 8_000;

function messageOf(row: ErrorRow, { message = row.message, param = '' }: GatewayErrorOptions): string {
  if (param.length <= QUOTE_LENGTH_MAX && message.length <= MESSAGE_LENGTH_MAX) return message;
  return cut(param === '' ? message : message.replaceAll(param, () => quoted(param)), MESSAGE_LENGTH_MAX);
}

/** Shortens a text of a request for an error message. */
export function quoted(text: string): string {
  return cut(text, QUOTE_LENGTH_MAX);
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** Returns an error with status 400. `param`: the invalid field. */
export function invalidRequest(message: string, param?: string): GatewayError {
  return new GatewayError('invalidRequest', param === undefined ? { message } : { message, param });
}
