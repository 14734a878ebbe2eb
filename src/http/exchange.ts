import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpReport } from './http-report.ts';

/** A request with its response, for handlers that do not use the framework. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  report: HttpReport | null = null;
  /** Headers of every response by `sendJson`, also of errors. */
  headers: Readonly<Record<string, string>> = {};

  constructor(request: IncomingMessage, response: ServerResponse, id: string) {
    this.request = request;
    this.response = response;
    this.id = id;
  }

  sendJson(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
    const { request, response, id } = this;
    closeAfterLongBody(request, response);
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

/** Closes the connection after the response if what is left of the body may be long: reading it can cost more than a new connection. */
export function closeAfterLongBody({ complete, headers }: IncomingMessage, response: ServerResponse): void {
  if (complete) return;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= UNREAD_BYTES_MAX) return;
  response.shouldKeepAlive = false;
}
