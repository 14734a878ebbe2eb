import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from './gateway-error.ts';

/**
 * How the errors of an address are written (contract, section 7). Pure: an error in, a body out. The envelopes of the
 * protocol families are in `protocols`.
 */
export interface Envelope<Body extends object = object> {
  readonly name: 'chat' | 'messages' | 'usage' | 'cohere' | 'admin' | 'catalog';
  /** The HTTP status of the error. */
  status(error: GatewayError): number;
  /** The body of the response, as a value; `nowMs` is the epoch time. */
  render(error: GatewayError, requestId: string, nowMs: number): Body;
  /** The envelope of the client's own family, at addresses that clients of several families share. */
  forClient?(headers: IncomingHttpHeaders): Envelope;
}

/** Writes an error as an event inside a stream that has begun. The event cannot be taken for the end of a complete stream. */
export type RenderStreamError = (error: GatewayError, requestId: string) => string;

interface AdminErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

interface CatalogErrorBody {
  readonly code: string;
  readonly message: string;
  readonly success: false;
  /** ISO 8601. */
  readonly timestamp: string;
}

export const adminEnvelope: Envelope<AdminErrorBody> = {
  name: 'admin',
  status: ({ status }) => status,
  render: ({ code, message, param }) => ({ error: { code, message, param } }),
};

/** The public catalog has codes of its own for the two errors that the contract lists (section 7). */
export const catalogEnvelope: Envelope<CatalogErrorBody> = {
  name: 'catalog',
  status: ({ status }) => status,
  render(error, _requestId, nowMs) {
    const code = error.status === 405 ? 'COMMON_004' : error.status >= 500 ? 'COMMON_001' : error.code;
    return { code, message: error.message, success: false, timestamp: new Date(nowMs).toISOString() };
  },
};
