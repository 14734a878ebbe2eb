import { createServer, METHODS, type RequestListener, type Server } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { markAwaitingContinue } from './body.ts';
import { respondToBrokenHttp } from './broken-http.ts';
import { ClientAddresses } from './client-address.ts';
import { type ConnectionLimits, perAddressMax, watchConnections } from './connections.ts';
import { type Cors, registerCors } from './cors.ts';
import { responseToFailure } from './error-response.ts';
import { ExactAddresses } from './exact-addresses.ts';
import { closeAfterLongBody } from './exchange.ts';
import { Gate } from './gate.ts';
import { type OpenHttpReport, reportRequest, reportWithoutRequest } from './http-report.ts';
import { ROUTER_OPTIONS, ServedAddresses } from './served-addresses.ts';
import { originForm, type UnknownAddresses } from './unknown-addresses.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Format of error responses. */
    envelope?: Envelope;
  }
}

export interface ServerLimits extends ConnectionLimits {
  readonly headerTimeout: number;
}

interface ServerOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Whether requests on open connections are refused, so that clients use another node. */
  readonly isClosing: () => boolean;
  readonly unknownAddresses: UnknownAddresses;
  readonly limits: ServerLimits;
  /** Absent: pages of other origins cannot read responses. */
  readonly cors?: Cors;
  /** Creates a report for each request; absent: there are no reports. */
  readonly openReport?: OpenHttpReport;
}

/** Maximum size of headers. Agents send large headers with metadata; Node's default is 16 KiB. */
const HEADER_BYTES_MAX = 64 * 1024;
/** Load balancers keep idle connections for less time, so they never use one that the gateway is closing. */
const KEEP_ALIVE_MS = 75_000;
/** Idle time after which the system sends probes (TCP keep-alive). */
const PROBE_AFTER_MS = 60_000;
/** Maximum time between two checks for headers that are overdue. */
const HEADERS_CHECK_MS_MAX = 30_000;
/** Maximum number of header lines, twice Node's default. */
const HEADER_LINES_MAX = 2000;

/** Replaces the framework's compilers of schemas, which are 100 modules. No address has a schema. */
function compileNothing(): () => never {
  return () => {
    throw new Error('addresses must not have schemas for the framework');
  };
}

export function createHttpServer(options: ServerOptions): FastifyInstance {
  const { ids, isClosing, limits, unknownAddresses, cors = null, openReport, clock, logger } = options;
  const clientAddresses = new ClientAddresses(limits.trustedProxies ?? []);
  const gate = new Gate(isClosing, clientAddresses, perAddressMax(limits));
  const servedAddresses = new ServedAddresses();
  const exactAddresses = new ExactAddresses({ clientAddresses, gate, cors, clock, ids, logger, openReport });
  const app = fastify({
    serverFactory: (framework) => createNodeServer(exactAddresses.listener(framework), clientAddresses, options),
    // The framework's own handler would respond even while another response is being sent.
    clientErrorHandler: (error, socket) => respondToBrokenHttp(error, socket, options),
    genReqId: () => ids.next('req'),
    requestIdHeader: false,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: ROUTER_OPTIONS,
    schemaController: { compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing } },
    frameworkErrors(error, request, reply) {
      report(request, reply);
      fail(error, request, reply);
    },
  });
  app.decorate('servedAddresses', servedAddresses);
  app.decorate('exactAddresses', exactAddresses);

  // The framework would check the content type first. Instead, endpoints check the credential before they read a body.
  for (const method of METHODS) {
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }

  function report(request: FastifyRequest, { raw: response }: FastifyReply): void {
    if (openReport === undefined) return;
    const { config, url } = request.routeOptions;
    const { path = url ?? null, kind = 'unknown', operation = null } = config ?? {};
    const address = { path, kind, operation };
    request.report = reportRequest(request.raw, response, request.id, address, clientAddresses, openReport);
  }

  function fail(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const envelope =
      servedAddresses.envelopeOf(request) ?? unknownAddresses.envelopeOf(originForm(request.url), request.headers);
    const { status, headers, body } = responseToFailure(error, request, envelope, reply.raw, options);
    reply.code(status).headers(headers).type('application/json').send(body);
  }

  app.decorateRequest('report', null);
  app.addHook('onRequest', (request, reply, done) => {
    report(request, reply);
    done(gate.judge(request.raw, reply.raw) ?? undefined);
  });
  if (cors !== null) registerCors(app, cors);
  app.addHook('onSend', (request, reply, _payload, done) => {
    const id = String(reply.getHeader('request-id') ?? request.id);
    reply.header('x-request-id', id).header('request-id', id);
    closeAfterLongBody(request.raw, reply.raw);
    done();
  });
  app.setNotFoundHandler(({ url, headers, report }) => {
    if (report !== null) report.path = servedAddresses.pathOf(url);
    servedAddresses.refuseOtherMethod(url);
    throw new GatewayError('pathUnknown', { message: unknownAddresses.messageFor(originForm(url), headers) });
  });
  app.setErrorHandler(fail);
  return app;
}

function createNodeServer(
  handler: RequestListener,
  addresses: ClientAddresses,
  { limits, logger, ids, openReport }: ServerOptions,
): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: limits.headerTimeout,
    connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS_MAX, Math.ceil(limits.headerTimeout / 2)),
    // The time of an upload as a whole is not limited; `readBody` checks that it makes progress.
    requestTimeout: 0,
    // Node does not refuse requests without a Host header, because `gate.judge` does so, with an error in the format of the address.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  });
  server.maxHeadersCount = HEADER_LINES_MAX;
  watchConnections(server, handler, limits, {
    addresses,
    logger,
    onRefused: (address) =>
      reportWithoutRequest('connection', address, ids.next('req'), openReport)?.closed(null, false),
  });
  server.on('checkContinue', (request, response) => {
    markAwaitingContinue(request);
    server.emit('request', request, response);
  });
  // Unknown expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}
