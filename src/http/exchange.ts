import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpReport } from './http-report.ts';

/** A request and its response, which the framework does not write. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  /** `null` if nobody observes the server. */
  report: HttpReport | null = null;
  /** Headers that `sendJson` adds, also to the response of an error. */
  headers: Readonly<Record<string, string>> = {};

  constructor(request: IncomingMessage, response: ServerResponse, id: string) {
    this.request = request;
    this.response = response;
    this.id = id;
  }

  sendJson(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
    const { request, response, id } = this;
    endBehindLongBody(request, response);
    response.writeHead(status, {
      'request-id': id,
      'x-request-id': id,
      ...this.headers,
      ...headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  }
}

const UNREAD_BYTES_MAX = 64 * 1024;

/**
 * Ends the connection behind a response if much of the request is unread. Reading the rest of a short body keeps the connection; a long one
 * is not worth reading, and an endless one never ends.
 */
export function endBehindLongBody({ complete, headers }: IncomingMessage, response: ServerResponse): void {
  if (complete) return;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= UNREAD_BYTES_MAX) return;
  response.shouldKeepAlive = false;
}
