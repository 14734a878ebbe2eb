import type { Socket } from 'node:net';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { connectionOf } from './connections.ts';
import { renderError } from './error-response.ts';
import { type OpenHttpReport, reportOfResponse, reportWithoutRequest } from './http-report.ts';
import { originForm, type UnknownAddresses } from './unknown-addresses.ts';

interface BrokenHttpDependencies {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly unknownAddresses: UnknownAddresses;
  readonly openReport?: OpenHttpReport;
}

/** An error of Node's HTTP parser. `rawPacket`: the bytes that it parsed, a Buffer although the framework declares another type. */
interface BrokenHttpError extends Error {
  readonly code?: string;
  readonly rawPacket?: unknown;
}

const REQUEST_LINE = /^[A-Z-]+ (\S+) HTTP\/1\.[01]\r\n/;

/** Returns the path of a broken request: that of the request line in `bytes`, otherwise that of the previous request. */
function pathOfBroken(bytes: unknown, lastUrl: string | null): string {
  const beginning = Buffer.isBuffer(bytes) ? bytes.toString('latin1', 0, 8_192) : '';
  return REQUEST_LINE.exec(beginning)?.[1] ?? lastUrl ?? '/';
}

/** Responds to invalid HTTP, to headers that are too large, and to bodies that end early. Then closes the connection. */
export function respondToBrokenHttp(error: BrokenHttpError, socket: Socket, options: BrokenHttpDependencies): void {
  const { clock, unknownAddresses, ids } = options;
  const connection = connectionOf(socket);
  const { responding } = connection;
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // While a response is being sent, the client would read an error as a part of it. A stream goes on if later headers are late.
  const isResponding = responding?.headersSent === true && !responding.writableEnded;
  if (!socket.writable || error.code === 'ECONNRESET' || (isResponding && !isLate)) {
    socket.destroy();
    return;
  }
  // These bytes belong to a request whose response was already sent.
  if (connection.isRespondedEarly) {
    socket.destroySoon();
    return;
  }
  if (responding?.writableEnded) {
    // The previous response is still being sent, and may close the connection.
    responding.once('close', () => respondToBrokenHttp(error, socket, options));
    return;
  }
  // There are complete requests before the broken bytes. Their responses, which may be charged, must still be sent.
  if (connection.closeAfterCompleteRequests()) return;
  const response =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new GatewayError('headersTooLarge')
      : isLate
        ? new GatewayError('requestTimeout', { message: 'The request headers did not arrive in time.' })
        : new GatewayError('malformedHttp');
  // If only the body of a request is broken, the request has an id and a report.
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
