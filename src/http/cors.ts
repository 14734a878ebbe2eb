import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((figure) =>
  ['requests', 'tokens', 'input-tokens', 'output-tokens'].map((kind) => `x-ratelimit-${figure}-${kind}`),
);

/** Response headers that a page may read. */
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

/** Lets web pages of the allowed origins call the public addresses (Fetch standard, "CORS protocol"). */
export class Cors {
  readonly #allowedOrigins: () => readonly string[];
  readonly #exposedHeaders: string;

  constructor(allowedOrigins: () => readonly string[], callHeaderNames: readonly string[]) {
    this.#allowedOrigins = allowedOrigins;
    this.#exposedHeaders = [...EXPOSED_HEADERS, ...callHeaderNames].sort().join(', ');
  }

  /** Sets the headers that let the page read the response. Returns false if its origin is not allowed. */
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

/** Adds the headers to responses of the framework, and responds to preflight requests. No origin is allowed to use the admin API. */
export function registerCors(app: FastifyInstance, cors: Cors): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Compares the matched address, because a path has several spellings, such as `//admin` or `/%61dmin`.
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
        // All headers are allowed, because SDKs add their own. The gateway forwards only headers that it knows.
        ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
      })
      .send();
  });
}
