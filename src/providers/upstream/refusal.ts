import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError, type GatewayErrorOptions } from '../../errors/gateway-error.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import type { UpstreamHead } from './exchange.ts';
import { type ProviderAnswer, UpstreamFailure, unusableSuccess } from './failure.ts';
import { safeResponseHeaders } from './headers.ts';
import { plainText, textsOf, toWords } from './provider-words.ts';
import { isAboutOperator, isAccountCode, refusalReason } from './refusal-reason.ts';
import { scrub } from './secrets.ts';

export const ERROR_BODY_BYTES_MAX = 64 * 1024;

const CODE = /^[A-Za-z0-9_.:-]{1,64}$/;

/**
 * Converts a provider's error response. Keeps the status, the wording of the message, which agents compare with known messages, and, in the
 * messages protocol, the type. Removes everything that names the provider (contract, sections 1 and 7).
 */
export function providerRefusal(
  status: number,
  upstream: IncomingHttpHeaders,
  { message, type, code, param, wrapped }: ProviderError,
  requestId: string,
): GatewayError {
  const headers = safeResponseHeaders(upstream);
  const { 'x-should-retry': advice, ...otherHeaders } = headers;
  const options: GatewayErrorOptions = {
    status,
    code: code ?? CODES[status] ?? 'upstream_error',
    message: message ?? `The provider responded with status ${status}.`,
    headers: otherHeaders,
    requestId,
    retry: advice === 'true' ? 'yes' : advice === 'false' || isOutcomeUnknown(status) ? 'no' : 'unsaid',
    ...(type === undefined ? {} : { type }),
    ...(param === undefined ? {} : { param }),
    ...(wrapped === undefined ? {} : { cause: new Error(wrapped) }),
  };
  return new GatewayError('upstreamRefused', options);
}

/** Whether the status means that a proxy lost the call, so the provider may have run it. */
function isOutcomeUnknown(status: number): boolean {
  return status === 502 || status === 504;
}

interface ProviderError {
  readonly message?: string;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
  /** The error of the server behind a relay; absent if there is none, or if the relay's message contains it. */
  readonly wrapped?: string;
  /** Whether the body says that it is an error. */
  readonly isError: boolean;
  /** The words for the record of the call (`provider-words.ts`). */
  readonly words: string | null;
}

/** Reads the error formats of both protocols and of Google, and a flat format that some providers use. */
export function readErrorBody(body: Buffer, secrets: readonly string[]): ProviderError {
  const text = body.toString('utf8');
  const parsed = parseJson(text);
  // Google's compatible API puts the error in an array.
  const root: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isRecord(root)) return { isError: false, words: toWords(plainText(text), secrets) };
  const error = isRecord(root.error) ? root.error : root;
  const message =
    typeof error.message === 'string' ? error.message : typeof root.error === 'string' ? root.error : null;
  const details = isRecord(error.details) ? error.details : {};
  /** Only text in the format of a code is used; other text could be a secret. */
  const isCode = (value: unknown): value is string =>
    typeof value === 'string' && CODE.test(value) && scrub(value, secrets) === value;
  const code = [error.code, details.error_code, accountReason(error.details)].find(isCode);
  const wrapped = wrappedError(error);
  const isError = isRecord(root.error) || typeof root.error === 'string' || root.type === 'error';
  const said = [message, wrapped].filter(Boolean);
  return {
    isError: isError || (message !== null && code !== undefined),
    words: toWords((said.length > 0 ? said : textsOf(error)).join(': '), secrets),
    ...(wrapped === null ? {} : { wrapped: scrub(wrapped, secrets) }),
    ...(message === null || message === '' ? {} : { message: scrub(message, secrets) }),
    ...(isCode(error.type) && error.type !== 'error' ? { type: error.type } : {}),
    ...(code === undefined ? {} : { code }),
    ...(typeof error.param === 'string' && error.param.length <= 200 ? { param: scrub(error.param, secrets) } : {}),
  };
}

/** Returns the error of the server behind a relay: a string in `metadata.raw` (OpenRouter), or an object in `upstream_error`. */
function wrappedError({ metadata, upstream_error: upstreamError }: Record<string, unknown>): string | null {
  if (isRecord(metadata) && typeof metadata.raw === 'string') return metadata.raw;
  return isRecord(upstreamError) ? JSON.stringify(upstreamError) : null;
}

/** Returns the reason of an error about the account at Google, which is in a list of details. */
function accountReason(details: unknown): unknown {
  if (!Array.isArray(details)) return undefined;
  const reasons = details.map((detail: unknown) => (isRecord(detail) ? detail.reason : undefined));
  return reasons.find((reason) => typeof reason === 'string' && isAccountCode(reason));
}

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'permission_denied',
  404: 'model_not_found',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'unprocessable_entity',
};

/** Builds the failure for a status other than 200. If the provider refuses the operator, the client gets a 502 (contract, section 7). */
export function refusalFailure(
  { status, headers }: UpstreamHead,
  body: Buffer,
  secrets: readonly string[],
  requestId: string,
): UpstreamFailure {
  if (status >= 200 && status <= 299) {
    return unusableSuccess(requestId, undefined, answerInSuccess(status, body, secrets));
  }
  const error = readErrorBody(body, secrets);
  // Without a message, the client gets a sentence of the gateway.
  const isPrivate = error.message === undefined || error.wrapped !== undefined;
  const answer = { status, words: error.words, isPrivate };
  // Other statuses cannot be sent to a client and do not show whether the provider ran the call.
  if (status < 400 || status > 599) {
    return new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId }), undefined, { answer });
  }
  const refused = providerRefusal(status, headers, error, requestId);
  const refusal = { reason: refusalReason(refused), status };
  const ofOperator = { refusal, answer: { ...answer, isPrivate: true } };
  if (refusal.reason === 'model') {
    // The message contains the provider's name of the model, so it is only logged.
    const { headers: safe } = refused;
    const response = new GatewayError('modelNotServed', { param: 'model', headers: safe, requestId, cause: refused });
    return new UpstreamFailure('refused', response, refused, ofOperator);
  }
  if (!isAboutOperator(refused)) return new UpstreamFailure('refused', refused, undefined, { refusal, answer });
  // The message is about the operator's account, so it is only logged.
  const response = new GatewayError('upstreamAccountRefused', { headers: refused.headers, requestId, cause: refused });
  return new UpstreamFailure('refused', response, refused, ofOperator);
}

/** Returns the error in a body or an event with the status of a success. Other bodies have no words: they are output of the model. */
export function answerInSuccess(status: number, body: Buffer, secrets: readonly string[]): ProviderAnswer {
  const error = readErrorBody(body, secrets);
  if (!error.isError) return { status, words: null, isPrivate: false };
  const isPrivate = error.wrapped !== undefined || isAboutOperator(providerRefusal(400, {}, error, ''));
  return { status, words: error.words, isPrivate };
}
