import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorKind } from '../errors/catalogue.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import { canonicalAddress } from '../lib/ip-address.ts';
import type { ClientAddresses } from './client-address.ts';

/** The purpose of a request. `connection`: a connection that was refused, without a request. */
export type RequestKind =
  | 'call'
  | 'estimate'
  | 'query'
  | 'admin'
  | 'account'
  | 'health'
  | 'page'
  | 'preflight'
  | 'unknown'
  | 'connection';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The kind of the request in its report; absent: `unknown`. */
    kind?: RequestKind;
    /** The operation of the request in its report. Each address specifies it, so a request that is refused before it is read has it too. */
    operation?: string;
    /** The path of the request in its report; absent: the path pattern of the router. */
    path?: string;
  }
  interface FastifyRequest {
    /** The request's report; `null` if no report is kept. */
    report: HttpReport | null;
  }
}

/** The facts about a request that are known when it arrives. */
export type Arrival = Readonly<
  Pick<HttpReport, 'requestId' | 'clientRequestId' | 'method' | 'path' | 'kind' | 'operation' | 'clientAddress'> &
    Pick<HttpReport, 'traceparent' | 'tracestate'>
>;

export type OpenHttpReport = (arrival: Arrival) => HttpReport;

/**
 * The facts about a request and its response. The report is complete when the response is closed and all work for the request has ended;
 * then `over` is called once.
 */
export abstract class HttpReport {
  readonly requestId: string;
  /** The id that the client gave the request; `null` if the client sent no id or an invalid one. */
  readonly clientRequestId: string | null;
  /** The method; `null` if the request could not be parsed. */
  readonly method: string | null;
  /** The pattern of the address, such as `/v1/models/:model`; `null` for an unknown address. */
  path: string | null;
  kind: RequestKind;
  /** The operation, if the request is a call, an estimate or a query. */
  readonly operation: string | null;
  /** The client's own address, also behind trusted proxies; empty if unknown. */
  readonly clientAddress: string;
  /** The client's W3C trace context, not validated. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** The status that was sent; `null` if the client disconnected earlier, or if the connection was closed without a response. */
  status: number | null = null;
  /** Whether the response was sent completely. */
  isWhole = false;
  errorKind: ErrorKind | null = null;
  /** The error code in the response. */
  responseCode: string | null = null;
  errorMessage: string | null = null;
  errorParam: string | null = null;
  #statusPastResponse: number | null = null;
  /** Number of pending parts: the response, and work that can outlast it. */
  #open = 1;

  constructor(arrival: Arrival) {
    this.requestId = arrival.requestId;
    this.clientRequestId = arrival.clientRequestId;
    this.method = arrival.method;
    this.path = arrival.path;
    this.kind = arrival.kind;
    this.operation = arrival.operation;
    this.clientAddress = arrival.clientAddress;
    this.traceparent = arrival.traceparent;
    this.tracestate = arrival.tracestate;
  }

  /** Records that the response is this error. */
  failed(error: GatewayError): void {
    this.errorKind = error.kind;
    this.responseCode = error.code;
    this.errorMessage = error.message;
    this.errorParam = error.param;
  }

  /** Records a response that was written directly to the socket, because the request was broken. */
  sentPastResponse(status: number): void {
    this.#statusPastResponse = status;
  }

  /** Call this when work begins that can outlast the response, such as a call whose client may disconnect. */
  enter(): void {
    this.#open++;
  }

  /** Call this when the work that called `enter` has ended. */
  leave(): void {
    this.#end();
  }

  /** Call this when the response is closed. `status`: `null` if nothing was sent through the response object. */
  closed(status: number | null, isWhole: boolean): void {
    this.status = status ?? this.#statusPastResponse;
    this.isWhole = isWhole || (status === null && this.status !== null);
    this.#end();
  }

  #end(): void {
    if (--this.#open === 0) this.over();
  }

  protected abstract over(): void;
}

const REPORT = Symbol('report');

/**
 * A response with the report of its request. A `WeakMap` would be slower: the garbage collector keeps all its values alive in the young
 * generation, so the report of every call, and everything it references, would move to the old generation.
 */
interface ReportedResponse extends ServerResponse {
  [REPORT]?: HttpReport;
}

/** Returns the report of a response's request; `null` if no report is kept. */
export function reportOfResponse(response: ReportedResponse): HttpReport | null {
  return response[REPORT] ?? null;
}

type ReportedAddress = Pick<Arrival, 'path' | 'kind' | 'operation'>;

/** Opens the report of a request. The `close` event of the response closes the report in every case. */
export function reportRequest(
  request: IncomingMessage,
  response: ReportedResponse,
  requestId: string,
  { path, kind, operation }: ReportedAddress,
  addresses: ClientAddresses,
  open: OpenHttpReport,
): HttpReport {
  const { headers } = request;
  // Node joins several lines of these headers into one string.
  const { traceparent = null, tracestate = null } = headers as Record<string, string | undefined>;
  const report = open({
    requestId,
    clientRequestId: clientRequestIdOf(headers),
    method: request.method ?? null,
    path,
    kind,
    operation,
    clientAddress: addresses.exactOf(request),
    traceparent,
    tracestate,
  });
  response[REPORT] = report;
  response.on('close', closeReport);
  return report;
}

function closeReport(this: ReportedResponse): void {
  // `writableFinished` stays false for a request that was injected without a socket.
  const isWhole = this.writableFinished || (this.writableEnded && this.socket?.destroyed === false);
  this[REPORT]!.closed(this.headersSent ? this.statusCode : null, isWhole);
}

/** Opens a report without a request: for a refused connection, or for bytes that are not HTTP. */
export function reportWithoutRequest(
  kind: RequestKind,
  peerAddress: string | undefined,
  requestId: string,
  open: OpenHttpReport | undefined,
): HttpReport | null {
  if (open === undefined) return null;
  const clientAddress = canonicalAddress(peerAddress ?? '') ?? '';
  const nothing = {
    clientRequestId: null,
    method: null,
    path: null,
    operation: null,
    traceparent: null,
    tracestate: null,
  };
  return open({ ...nothing, requestId, kind, clientAddress });
}

/** Visible ASCII of at most 128 characters. */
const CLIENT_REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const CLIENT_REQUEST_ID_HEADERS = ['x-request-id', 'x-client-request-id'] as const;

/** The id that the client gave the request; `null` if there is no valid one. */
function clientRequestIdOf(headers: IncomingHttpHeaders): string | null {
  for (const name of CLIENT_REQUEST_ID_HEADERS) {
    const id = headers[name];
    if (typeof id === 'string' && CLIENT_REQUEST_ID.test(id)) return id;
  }
  return null;
}
