import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from './gateway-error.ts';

/** An error format (contract, section 7). The envelopes of the protocol families are in `protocols`. */
export interface Envelope<Body extends object = object> {
  readonly name: 'chat' | 'messages' | 'usage' | 'cohere' | 'admin' | 'catalog';
  status(error: GatewayError): number;
  /** `nowMs`: epoch time. */
  render(error: GatewayError, requestId: string, nowMs: number): Body;
  /** Addresses that several families share choose the envelope of the client's family. */
  forClient?(headers: IncomingHttpHeaders): Envelope;
}

/** Clients cannot mistake the error event for the end of a complete stream. */
export type RenderStreamError = (error: GatewayError, requestId: string) => string;

interface AdminErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly param: string | null;
    readonly details?: readonly string[];
  };
}

interface CatalogErrorBody {
  readonly code: string;
  readonly message: string;
  readonly success: false;
  /** An instant in ISO 8601. */
  readonly timestamp: string;
}

export const adminEnvelope: Envelope<AdminErrorBody> = {
  name: 'admin',
  status: ({ status }) => status,
  render: ({ code, message, param, details }) => ({
    error: { code, message, param, ...(details !== undefined && { details }) },
  }),
};

/** The public catalog has its own codes for two errors (contract, section 7). */
export const catalogEnvelope: Envelope<CatalogErrorBody> = {
  name: 'catalog',
  status: ({ status }) => status,
  render(error, _requestId, nowMs) {
    const code = error.status === 405 ? 'COMMON_004' : error.status >= 500 ? 'COMMON_001' : error.code;
    return { code, message: error.message, success: false, timestamp: new Date(nowMs).toISOString() };
  },
};
