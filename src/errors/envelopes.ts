import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayError } from './gateway-error.ts';

/** A format of errors (contract, section 7). Those of the protocol families are in `protocols`. */
export interface Envelope<Body extends object = object> {
  readonly name: 'chat' | 'messages' | 'usage' | 'cohere' | 'admin' | 'catalog';
  status(error: GatewayError): number;
  /** Formats an error. `nowMs`: epoch time. */
  render(error: GatewayError, requestId: string, nowMs: number): Body;
  /** Returns the format of the client's family, for addresses that several families share. */
  forClient?(headers: IncomingHttpHeaders): Envelope;
}

/** Formats an error as an event of a stream, which clients cannot mistake for the end of a complete stream. */
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
  /** Time of the error in ISO 8601. */
  readonly timestamp: string;
}

export const adminEnvelope: Envelope<AdminErrorBody> = {
  name: 'admin',
  status: ({ status }) => status,
  render: ({ code, message, param, details }) => ({
    error: { code, message, param, ...(details !== undefined && { details }) },
  }),
};

/** Format of the public catalog, which has codes of its own for two errors (contract, section 7). */
export const catalogEnvelope: Envelope<CatalogErrorBody> = {
  name: 'catalog',
  status: ({ status }) => status,
  render(error, _requestId, nowMs) {
    const code = error.status === 405 ? 'COMMON_004' : error.status >= 500 ? 'COMMON_001' : error.code;
    return { code, message: error.message, success: false, timestamp: new Date(nowMs).toISOString() };
  },
};
