import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorKind } from '../errors/catalogue.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import { canonicalAddress } from '../lib/ip-address.ts';
import type { ClientAddresses } from './client-address.ts';

/** What a request is for; `connection`: one that was closed as soon as it was opened, before any request. */
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
    /** What requests for this address are for; absent: `unknown`. */
    kind?: RequestKind;
    /** What they ask for; known of requests that are refused early, too. */
    operation?: string;
    /** The path as reports show it; absent: as the router has it. */
    path?: string;
  }
  interface FastifyRequest {
    /** The report of the request; `null` if nobody observes the server. */
    report: HttpReport | null;
  }
}

/** What is known of a request when it arrives. */
export type Arrival = Readonly<
  Pick<HttpReport, 'requestId' | 'clientRequestId' | 'method' | 'path' | 'kind' | 'operation' | 'clientAddress'> &
    Pick<HttpReport, 'traceparent' | 'tracestate'>
>;

/** Opens the report of a request. */
export type OpenHttpReport = (arrival: Arrival) => HttpReport;

/**
 * What the server knows of a request, filled in until its response is closed and all work for it has ended. Then `over`
 * runs, once.
 */
export abstract class HttpReport {
  readonly requestId: string;
  /** The client's own id of the request; `null` where it sends none, or none that is kept. */
  readonly clientRequestId: string | null;
  /** `null` if nothing could be read. */
  readonly method: string | null;
  /** The pattern of the address, such as `/v1/models/:model`; `null` if nothing is at the address. */
  path: string | null;
  kind: RequestKind;
  /** The operation of a call, an estimate or a query. */
  readonly operation: string | null;
  /** Also behind trusted proxies; empty if it is not known. */
  readonly clientAddress: string;
  /** The client's W3C trace context as it came; anything may stand in it. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** The status that was sent; `null` if the client left before, or the connection was closed without one. */
  status: number | null = null;
  /** Whether the whole response was sent. */
  isWhole = false;
  errorKind: ErrorKind | null = null;
  /** The code of the error that the client got as its response. */
  responseCode: string | null = null;
  errorMessage: string | null = null;
  errorParam: string | null = null;
  #statusPastResponse: number | null = null;
  /** What is still under way: the response, and work that may outlast it. */
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

  /** The error that the response is. */
  failed(error: GatewayError): void {
    this.errorKind = error.kind;
    this.responseCode = error.code;
    this.errorMessage = error.message;
    this.errorParam = error.param;
  }

  /** A response with this status was written to the connection itself, because the request broke off. */
  sentPastResponse(status: number): void {
    this.#statusPastResponse = status;
  }

  /** Work begins that may outlast the response, such as a call whose client may leave. */
  enter(): void {
    this.#open++;
  }

  /** That work is over. */
  leave(): void {
    this.#end();
  }

  /** The response is closed, or there is none. */
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
 * A response with the report of its request. Not in a `WeakMap`: the collector of the young generation keeps all its values, so that the
 * report of every call, with all that it says of the call, would become old.
 */
interface ReportedResponse extends ServerResponse {
  [REPORT]?: HttpReport;
}

/** The report of the request that a response belongs to; `null` if nobody observes the server. */
export function reportOfResponse(response: ReportedResponse): HttpReport | null {
  return response[REPORT] ?? null;
}

/** What a request is for, as its report shows it. */
type ReportedAddress = Pick<Arrival, 'path' | 'kind' | 'operation'>;

/** Opens the report of a request; whatever becomes of it, the end of its response closes the report. */
export function reportRequest(
  request: IncomingMessage,
  response: ReportedResponse,
  requestId: string,
  { path, kind, operation }: ReportedAddress,
  addresses: ClientAddresses,
  open: OpenHttpReport,
): HttpReport {
  const { headers } = request;
  // Of these headers several lines arrive as one text.
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
  // A response that is called without a socket ends without being finished.
  const isWhole = this.writableFinished || (this.writableEnded && this.socket?.destroyed === false);
  this[REPORT]!.closed(this.headersSent ? this.statusCode : null, isWhole);
}

/** Opens the report of what never became a request: a connection that was refused, or bytes that are not HTTP. */
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

/** The client's own id of its request, by which it can be found; `null` if there is none of the form that is kept. */
function clientRequestIdOf(headers: IncomingHttpHeaders): string | null {
  for (const name of CLIENT_REQUEST_ID_HEADERS) {
    const id = headers[name];
    if (typeof id === 'string' && CLIENT_REQUEST_ID.test(id)) return id;
  }
  return null;
}
