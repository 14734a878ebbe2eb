import type { FastifyInstance } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset'].flatMap((figure) =>
  ['requests', 'tokens', 'input-tokens', 'output-tokens'].map((kind) => `x-ratelimit-${figure}-${kind}`),
);

/** Headers of a response that a page may read. */
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

/**
 * Lets web pages of the given origins call the public addresses from a browser (Fetch standard, "CORS protocol"). The
 * headers are set on the raw response, because streams leave without the framework. Pages cannot reach the admin API.
 */
export function registerCors(
  app: FastifyInstance,
  allowedOrigins: () => readonly string[],
  callHeaderNames: readonly string[],
): void {
  const exposedHeaders = [...EXPOSED_HEADERS, ...callHeaderNames].sort().join(', ');
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    const allowed = allowedOrigins();
    // By the address that was found: one can be written in several ways, such as //admin or /%61dmin.
    const isAdmin = app.servedAddresses.envelopeOf(request) === adminEnvelope;
    if (allowed.length > 0 && !isAdmin) reply.raw.setHeader('vary', 'Origin');
    if (origin === undefined || isAdmin || !isAllowed(origin, allowed)) {
      done();
      return;
    }
    reply.raw.setHeader('access-control-allow-origin', origin);
    reply.raw.setHeader('access-control-expose-headers', exposedHeaders);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
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
        // All headers are allowed: SDKs add headers of their own, and the gateway forwards only those that it knows.
        ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
      })
      .send();
  });
}

function isAllowed(origin: string, allowed: readonly string[]): boolean {
  return allowed.includes(origin) || allowed.includes('*');
}
