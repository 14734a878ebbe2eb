import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((figure) =>
  ['requests', 'tokens', 'input-tokens', 'output-tokens'].map((kind) => `x-ratelimit-${figure}-${kind}`),
);

/** Response headers that web pages may read. */
const EXPOSED_HEADERS = [
  ...RATE_LIMIT_HEADERS,
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-error-code',
  'x-gateway-token-estimate',
  'x-request-id',
  'x-should-retry',
];

const PREFLIGHT_SECONDS = 600;

/** Allows web pages of certain origins to call the public addresses (Fetch standard, "CORS protocol"). */
export class Cors {
  readonly #allowedOrigins: () => readonly string[];
  readonly #exposedHeaders: string;

  constructor(allowedOrigins: () => readonly string[], callHeaderNames: readonly string[]) {
    this.#allowedOrigins = allowedOrigins;
    this.#exposedHeaders = [...EXPOSED_HEADERS, ...callHeaderNames].sort().join(', ');
  }

  /** Sets headers with which the page can read the response. Returns false if its origin is not allowed. */
  allow(request: IncomingMessage, response: ServerResponse): boolean {
    const allowed = this.#allowedOrigins();
    if (allowed.length === 0) return false;
    response.setHeader('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !(allowed.includes(origin) || allowed.includes('*'))) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', this.#exposedHeaders);
    return true;
  }
}

/** Adds the headers to responses of the framework, and responds to preflight requests. The admin API allows no origin. */
export function registerCors(app: FastifyInstance, cors: Cors): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Compares the address that was matched, because a path has several spellings, such as `//admin` or `/%61dmin`.
    const isAdmin = app.servedAddresses.envelopeOf(request) === adminEnvelope;
    const isAllowed = !isAdmin && cors.allow(request.raw, reply.raw);
    if (!isAllowed || request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      done();
      return;
    }
    if (request.report !== null) request.report.kind = 'preflight';
    const wanted = request.headers['access-control-request-headers'];
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-max-age': String(PREFLIGHT_SECONDS),
        // Allows all headers, because SDKs add their own. The gateway forwards only those that it knows.
        ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
      })
      .send();
  });
}
