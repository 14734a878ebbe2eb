import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorKind } from '../errors/catalogue.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import { canonicalAddress } from '../lib/ip-address.ts';
import type { ClientAddresses } from './client-address.ts';

/** What a request is for. `connection`: a connection that was refused, without a request. */
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
    /** Absent: the kind is `unknown`. */
    kind?: RequestKind;
    /** Operation of the address. Reports contain it even if the request is refused before it is read. */
    operation?: string;
    /** Pattern of the path; absent: that of the router. */
    path?: string;
  }
  interface FastifyRequest {
    report: HttpReport | null;
  }
}

/** What is known of a request when it arrives. */
export type Arrival = Readonly<
  Pick<HttpReport, 'requestId' | 'clientRequestId' | 'method' | 'path' | 'kind' | 'operation' | 'clientAddress'> &
    Pick<HttpReport, 'traceparent' | 'tracestate'>
>;

export type OpenHttpReport = (arrival: Arrival) => HttpReport;

/** What is reported about a request. `over` is called once, when the response is closed and all work for the request has ended. */
export abstract class HttpReport {
  readonly requestId: string;
  /** Request id that the client gave; `null`: none, or an invalid one. */
  readonly clientRequestId: string | null;
  /** `null`: the request could not be parsed. */
  readonly method: string | null;
  /** Pattern of the address, such as `/v1/models/:model`; `null`: unknown address. */
  path: string | null;
  kind: RequestKind;
  /** Operation, if the request is a call, an estimate or a query; otherwise `null`. */
  readonly operation: string | null;
  /** Address of the client itself, also behind trusted proxies; empty if unknown. */
  readonly clientAddress: string;
  /** W3C trace context of the client. It was not validated. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** Status that was sent; `null`: there was no response. */
  status: number | null = null;
  isWhole = false;
  errorKind: ErrorKind | null = null;
  responseCode: string | null = null;
  errorMessage: string | null = null;
  errorParam: string | null = null;
  #statusPastResponse: number | null = null;
  /** What is still pending: the response, and work that can last longer. */
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

  failed(error: GatewayError): void {
    this.errorKind = error.kind;
    this.responseCode = error.code;
    this.errorMessage = error.recordedMessage;
    this.errorParam = error.param;
  }

  /** Records a response that was written directly to the socket because the request was broken. */
  sentPastResponse(status: number): void {
    this.#statusPastResponse = status;
  }

  /** Called when work begins that can last longer than the response, such as a call. `leave` is called at its end. */
  enter(): void {
    this.#open++;
  }

  leave(): void {
    this.#end();
  }

  /** @param status `null` if nothing was sent by the response object */
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

/** A response with its report as a property: a `WeakMap` would move every report, and all that it references, to the old generation. */
interface ReportedResponse extends ServerResponse {
  [REPORT]?: HttpReport;
}

/** Returns the report of a response; `null`: there is none. */
export function reportOfResponse(response: ReportedResponse): HttpReport | null {
  return response[REPORT] ?? null;
}

type ReportedAddress = Pick<Arrival, 'path' | 'kind' | 'operation'>;

/** Opens a report. The `close` event of the response closes it in any case. */
export function reportRequest(
  request: IncomingMessage,
  response: ReportedResponse,
  requestId: string,
  { path, kind, operation }: ReportedAddress,
  addresses: ClientAddresses,
  open: OpenHttpReport,
): HttpReport {
  const { headers } = request;
  // Node joins repeated headers of these names to one string.
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
  // If a request was injected without a socket, `writableFinished` stays false.
  const isWhole = this.writableFinished || (this.writableEnded && this.socket?.destroyed === false);
  this[REPORT]!.closed(this.headersSent ? this.statusCode : null, isWhole);
}

/** Opens a report for a refused connection, or for bytes that are no HTTP. */
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

const CLIENT_REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const CLIENT_REQUEST_ID_HEADERS = ['x-request-id', 'x-client-request-id'] as const;

function clientRequestIdOf(headers: IncomingHttpHeaders): string | null {
  for (const name of CLIENT_REQUEST_ID_HEADERS) {
    const id = headers[name];
    if (typeof id === 'string' && CLIENT_REQUEST_ID.test(id)) return id;
  }
  return null;
}
