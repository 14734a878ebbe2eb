import { createServer, type IncomingMessage, METHODS, type RequestListener, type Server } from 'node:http';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { errorHeaders } from '../errors/headers.ts';
import type { Clock } from '../lib/clock.ts';
import { AtATime } from '../lib/fair/at-a-time.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { isAwaitingContinue, markAwaitingContinue } from './body.ts';
import { responseBrokenHttp } from './broken-http.ts';
import { createClientAddresses } from './client-address.ts';
import { type ConnectionLimits, perAddressMax, watchConnections } from './connections.ts';
import { type OpenHttpReport, reportRequest, reportWithoutRequest } from './http-report.ts';
import { ROUTER_OPTIONS, ServedAddresses } from './served-addresses.ts';
import { originForm, type UnknownAddresses } from './unknown-addresses.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The envelope of this address's errors. */
    envelope?: Envelope;
  }
}

/** The limits of connections, as the section `server` of the configuration has them. */
export interface ServerLimits extends ConnectionLimits {
  /** How long the headers of a request may take, in milliseconds. */
  readonly headerTimeout: number;
}

interface ServerOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /**
   * Whether the process is shutting down: requests on open connections are then refused, so that clients go to another
   * node.
   */
  readonly isClosing: () => boolean;
  readonly unknownAddresses: UnknownAddresses;
  readonly limits: ServerLimits;
  /** Opens the report of each request; absent: nobody observes the server. */
  readonly openReport?: OpenHttpReport;
}

/** Agents send large metadata headers; Node's own limit is 16 KiB. */
const HEADER_BYTES_MAX = 64 * 1024;
/**
 * Longer than a load balancer keeps an idle connection, so that it never reuses a connection that is being closed here.
 */
const KEEP_ALIVE_MS = 75_000;
/** How long a connection is silent before the system probes whether the client is still there. */
const PROBE_AFTER_MS = 60_000;
/** How often connections are looked at for headers that are overdue. */
const HEADERS_LOOK_MS = 30_000;
/** More than clients send; Node's own limit is half of it. */
const HEADER_LINES_MAX = 2000;

/** No address has a schema for the framework, which would load its compilers of them, 100 modules, all the same. */
function compileNothing(): () => never {
  return () => {
    throw new Error('addresses have no schemas for the framework');
  };
}

/**
 * The HTTP side, without models and without money: raw bodies, request ids on every response, and one place that
 * renders every error.
 */
export function createHttpServer(options: ServerOptions): FastifyInstance {
  const { ids, isClosing, limits, unknownAddresses, openReport } = options;
  const addresses = createClientAddresses(limits.trustedProxies ?? []);
  const behindProxies = new AtATime(perAddressMax(limits));
  const app = fastify({
    serverFactory: (handler) => createNodeServer(handler, options),
    // Replaces the framework's own handler, which would respond where this one does not.
    clientErrorHandler: (error, socket) => responseBrokenHttp(error, socket, options),
    genReqId: () => ids.next('req'),
    requestIdHeader: false,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: ROUTER_OPTIONS,
    schemaController: { compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing } },
    frameworkErrors: (error, request, reply) => {
      if (openReport !== undefined) reportRequest(request, reply, addresses, openReport);
      responseError(toGatewayError(error), request, reply, options);
    },
  });

  const servedAddresses = new ServedAddresses();
  app.decorate('servedAddresses', servedAddresses);

  // Endpoints read bodies themselves, after the check of the credential; the framework would act on them before that,
  // such as by refusing a content type.
  for (const method of METHODS) {
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }

  app.decorateRequest('report', null);
  if (openReport !== undefined) {
    app.addHook('onRequest', (request, reply, done) => {
      reportRequest(request, reply, addresses, openReport);
      done();
    });
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (isClosing()) {
      done(new GatewayError('shuttingDown', { headers: { connection: 'close' } }));
      return;
    }
    const refusal = judgeHead(request.raw);
    if (refusal !== null) {
      done(refusal);
      return;
    }
    // A trusted proxy has connections for many clients, so there the requests of each are counted.
    if (addresses.ofPeer(request.raw.socket.remoteAddress) === null) {
      const leave = behindProxies.take(addresses.ofRequest(request.raw));
      if (leave === null) {
        const message = 'As many requests of this client are under way as the gateway takes from one.';
        done(new GatewayError('overloaded', { message, headers: { 'retry-after': '1' } }));
        return;
      }
      reply.raw.once('close', leave);
    }
    const upgrade = request.headers.upgrade;
    // An offer to speak h2c may be ignored (RFC 9110, 7.8); a client that asks for a WebSocket waits for a response.
    if (upgrade !== undefined && upgrade.toLowerCase() === 'websocket') {
      done(new GatewayError('upgradeRefused', { headers: { upgrade: 'HTTP/1.1', connection: 'close' } }));
    } else {
      done();
    }
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    const id = String(reply.getHeader('request-id') ?? request.id);
    reply.header('x-request-id', id).header('request-id', id);
    if (hasLongUnreadBody(request.raw)) reply.header('connection', 'close');
    done();
  });
  app.setNotFoundHandler(({ url, headers, report }) => {
    if (report !== null) report.path = servedAddresses.pathOf(url);
    servedAddresses.refuseOtherMethod(url);
    throw new GatewayError('pathUnknown', { message: unknownAddresses.messageFor(originForm(url), headers) });
  });
  app.setErrorHandler((error, request, reply) => {
    responseError(toGatewayError(error), request, reply, options);
  });
  return app;
}

function responseError(
  error: GatewayError,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, unknownAddresses, logger }: ServerOptions,
): void {
  if (error.kind === 'internal') logger.error({ err: error, requestId: request.id }, 'a request failed unexpectedly');
  if (error.kind === 'databaseSilent') {
    logger.error({ err: error, requestId: request.id }, 'the database did not respond to a request');
  }
  request.report?.failed(error);
  const requestId = error.requestId ?? request.id;
  const envelope =
    request.server.servedAddresses.envelopeOf(request) ??
    unknownAddresses.envelopeOf(originForm(request.url), request.headers);
  if (hasLongUnreadBody(request.raw) || isAwaitingContinue(request.raw)) reply.header('connection', 'close');
  reply
    .code(envelope.status(error))
    .headers(errorHeaders(error))
    .header('request-id', requestId)
    .header('x-request-id', requestId)
    .type('application/json')
    .send(JSON.stringify(envelope.render(error, requestId, clock.nowMs())));
}

const UNREAD_BYTES_MAX = 64 * 1024;

/**
 * Reading the rest of a short body keeps the connection; a long one is not worth reading, and an endless one never
 * ends.
 */
function hasLongUnreadBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > UNREAD_BYTES_MAX;
}

/** Errors of the framework are mapped by their status; an unexpected error shows nothing to the client. */
function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const status = (error as { statusCode?: unknown }).statusCode;
  switch (status) {
    case 400:
      return new GatewayError('invalidRequest', { message: 'The address cannot be decoded.' });
    case 404:
    case 414:
      return new GatewayError('pathUnknown');
    case 413:
      return new GatewayError('requestTooLarge');
    case 415:
      return new GatewayError('unsupportedMediaType');
    default:
      return new GatewayError('internal', { cause: error });
  }
}

/** Refuses what the parser lets pass but two readers could understand differently. */
function judgeHead({ headers, httpVersion, rawHeaders }: IncomingMessage): GatewayError | null {
  // The parser takes 0.9 and 2.0 for versions of the same kind.
  const isSpoken = httpVersion === '1.1' || httpVersion === '1.0';
  const coding = headers['transfer-encoding'];
  const isFramed = coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion === '1.1');
  // RFC 9112, 3.2: one Host in HTTP/1.1, and never two.
  const isAddressed = headers.host === undefined ? httpVersion !== '1.1' : countHosts(rawHeaders) === 1;
  if (isSpoken && isFramed && isAddressed) return null;
  return new GatewayError('malformedHttp', { headers: { connection: 'close' } });
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function createNodeServer(handler: RequestListener, { limits, logger, ids, openReport }: ServerOptions): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: limits.headerTimeout,
    connectionsCheckingInterval: Math.min(HEADERS_LOOK_MS, Math.ceil(limits.headerTimeout / 2)),
    // An upload may take as long as it makes progress; `readBody` watches that.
    requestTimeout: 0,
    // A missing Host is refused in the envelope, as other errors are.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  });
  server.maxHeadersCount = HEADER_LINES_MAX;
  watchConnections(server, handler, limits, {
    addresses: createClientAddresses(limits.trustedProxies ?? []),
    logger,
    onRefused: (address) =>
      reportWithoutRequest('connection', address, ids.next('req'), openReport)?.closed(null, false),
  });
  server.on('checkContinue', (request, response) => {
    markAwaitingContinue(request);
    server.emit('request', request, response);
  });
  // RFC 9110, 10.1.1: an expectation that is not known may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}
