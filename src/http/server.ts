import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
} from 'node:http';
import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { errorHeaders } from '../errors/headers.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { AddressCounts } from './address-counts.ts';
import { isAwaitingContinue, markAwaitingContinue } from './body.ts';
import { createClientAddresses } from './client-address.ts';
import { type ConnectionLimits, connectionOf, perAddressMax, watchConnections } from './connections.ts';
import { ROUTER_OPTIONS, ServedAddresses } from './served-addresses.ts';

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

/** What the server says at addresses that no endpoint has. */
export interface UnknownAddresses {
  envelopeOf(path: string, headers: IncomingHttpHeaders): Envelope;
  /** The message of the 404. */
  messageFor(path: string, headers: IncomingHttpHeaders): string;
}

export interface ServerOptions {
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

/**
 * The HTTP side, without models and without money: raw bodies, request ids on every response, and one place that
 * renders every error.
 */
export function createHttpServer(options: ServerOptions): FastifyInstance {
  const { ids, isClosing, limits, unknownAddresses } = options;
  const addresses = createClientAddresses(limits.trustedProxies ?? []);
  const behindProxies = new AddressCounts(perAddressMax(limits));
  const app = fastify({
    serverFactory: (handler) => createNodeServer(handler, options),
    // Replaces the framework's own handler, which would respond where this one does not.
    clientErrorHandler: (error, socket) => answerBrokenHttp(error, socket, options),
    genReqId: () => ids.next('req'),
    requestIdHeader: false,
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: ROUTER_OPTIONS,
    frameworkErrors: (error, request, reply) => {
      answerError(toGatewayError(error), request, reply, options);
    },
  });

  const servedAddresses = new ServedAddresses();
  app.decorate('servedAddresses', servedAddresses);

  // Endpoints read bodies themselves, after the check of the credential; the framework would act on them before that,
  // such as by refusing a content type.
  for (const method of METHODS) {
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
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
      const leave = behindProxies.enter(addresses.ofRequest(request.raw));
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
  app.setNotFoundHandler(({ url, headers }) => {
    servedAddresses.refuseOtherMethod(url);
    throw new GatewayError('pathUnknown', { message: unknownAddresses.messageFor(originForm(url), headers) });
  });
  app.setErrorHandler((error, request, reply) => {
    answerError(toGatewayError(error), request, reply, options);
  });
  return app;
}

function answerError(
  error: GatewayError,
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, unknownAddresses, logger }: ServerOptions,
): void {
  if (error.kind === 'internal') logger.error({ err: error, requestId: request.id }, 'a request failed unexpectedly');
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

/** A target without the origin that it may begin with (RFC 9112, 3.2.2). */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '');
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

function createNodeServer(handler: RequestListener, { limits, logger }: ServerOptions): Server {
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
  watchConnections(server, handler, limits, { addresses: createClientAddresses(limits.trustedProxies ?? []), logger });
  server.on('checkContinue', (request, response) => {
    markAwaitingContinue(request);
    server.emit('request', request, response);
  });
  // RFC 9110, 10.1.1: an expectation that is not known may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

/** What the parser throws; `rawPacket` is what it was reading, a Buffer whatever the framework's types say. */
interface BrokenHttpError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

const REQUEST_LINE = /^[A-Z-]+ (\S+) HTTP\/1\.[01]\r\n/;

/**
 * The address of a broken request: from its own first line where that is at hand, otherwise that of the request before
 * it.
 */
function pathOfBroken(bytes: unknown, lastUrl: string | null): string {
  const beginning = Buffer.isBuffer(bytes) ? bytes.toString('latin1', 0, 8_192) : '';
  return REQUEST_LINE.exec(beginning)?.[1] ?? lastUrl ?? '/';
}

/**
 * Responds to bytes that are not HTTP, headers that are too large, and bodies that end early, then closes the
 * connection.
 */
function answerBrokenHttp(error: BrokenHttpError, socket: Socket, options: ServerOptions): void {
  const { clock, unknownAddresses, ids } = options;
  const connection = connectionOf(socket);
  const { answering } = connection;
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // In the middle of a response, another one would be taken for a part of it. Bytes that are only late do not harm a
  // stream.
  const isAnswering = answering?.headersSent === true && !answering.writableEnded;
  if (!socket.writable || error.code === 'ECONNRESET' || (isAnswering && !isLate)) {
    socket.destroy();
    return;
  }
  // These bytes are the rest of a request that already has its response.
  if (connection.isAnsweredEarly) {
    socket.destroySoon();
    return;
  }
  if (answering?.writableEnded) {
    // These bytes follow a request whose response is being sent, and that response may close the connection.
    answering.once('close', () => answerBrokenHttp(error, socket, options));
    return;
  }
  // The broken bytes follow whole requests, whose responses, perhaps charged ones, are still to come.
  if (connection.endBehindWholeRequests()) return;
  const answer =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new GatewayError('headersTooLarge')
      : isLate
        ? new GatewayError('requestTimeout', { message: 'The request headers did not arrive in time.' })
        : new GatewayError('malformedHttp');
  const requestId = ids.next('req');
  const envelope = unknownAddresses.envelopeOf(originForm(pathOfBroken(error.rawPacket, connection.lastUrl)), {});
  const body = JSON.stringify(envelope.render(answer, requestId, clock.nowMs()));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    'request-id': requestId,
    ...errorHeaders(answer),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${envelope.status(answer)} ${answer.code}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
