import type { Socket } from 'node:net';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { connectionOf } from './connections.ts';
import { renderError } from './error-response.ts';
import { type OpenHttpReport, reportOfResponse, reportWithoutRequest } from './http-report.ts';
import { originForm, type UnknownAddresses } from './unknown-addresses.ts';

interface BrokenHttpParts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly unknownAddresses: UnknownAddresses;
  readonly openReport?: OpenHttpReport;
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
export function responseBrokenHttp(error: BrokenHttpError, socket: Socket, options: BrokenHttpParts): void {
  const { clock, unknownAddresses, ids } = options;
  const connection = connectionOf(socket);
  const { responding } = connection;
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // In the middle of a response, another one would be taken for a part of it. Bytes that are only late do not harm a
  // stream.
  const isResponding = responding?.headersSent === true && !responding.writableEnded;
  if (!socket.writable || error.code === 'ECONNRESET' || (isResponding && !isLate)) {
    socket.destroy();
    return;
  }
  // These bytes are the rest of a request that already has its response.
  if (connection.isRespondedEarly) {
    socket.destroySoon();
    return;
  }
  if (responding?.writableEnded) {
    // These bytes follow a request whose response is being sent, and that response may close the connection.
    responding.once('close', () => responseBrokenHttp(error, socket, options));
    return;
  }
  // The broken bytes follow whole requests, whose responses, perhaps charged ones, are still to come.
  if (connection.endBehindWholeRequests()) return;
  const response =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new GatewayError('headersTooLarge')
      : isLate
        ? new GatewayError('requestTimeout', { message: 'The request headers did not arrive in time.' })
        : new GatewayError('malformedHttp');
  // A request whose body breaks has an id and a report.
  const own = responding === null ? null : reportOfResponse(responding);
  const requestId = own?.requestId ?? ids.next('req');
  const report = own ?? reportWithoutRequest('unknown', socket.remoteAddress, requestId, options.openReport);
  report?.failed(response);
  const envelope = unknownAddresses.envelopeOf(originForm(pathOfBroken(error.rawPacket, connection.lastUrl)), {});
  const { status, headers, body } = renderError(response, requestId, envelope, clock.nowMs());
  const sent = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
    connection: 'close',
  };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${response.code}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
  if (own !== null) own.sentPastResponse(status);
  else report?.closed(status, true);
}
