import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors/gateway-error.ts';
import { AtATime } from '../lib/fair/at-a-time.ts';
import type { ClientAddresses } from './client-address.ts';

/** Checks each request before its address is looked up. */
export class Gate {
  readonly #isClosing: () => boolean;
  readonly #addresses: ClientAddresses;
  /** Concurrent requests by client, for clients behind a trusted proxy, whose connections serve many of them. */
  readonly #behindProxies: AtATime;

  constructor(isClosing: () => boolean, addresses: ClientAddresses, perClientMax: number) {
    this.#isClosing = isClosing;
    this.#addresses = addresses;
    this.#behindProxies = new AtATime(perClientMax);
  }

  /** Returns why a request is refused; `null`: it is not. */
  judge(request: IncomingMessage, response: ServerResponse): GatewayError | null {
    if (this.#isClosing()) return new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    const { headers, socket } = request;
    if (!isUnambiguous(request)) return new GatewayError('malformedHttp', { headers: { connection: 'close' } });
    if (this.#addresses.ofPeer(socket.remoteAddress) === null) {
      const leave = this.#behindProxies.take(this.#addresses.ofRequest(request));
      if (leave === null) {
        const message = 'Too many requests of this client are in flight. Try again later.';
        return new GatewayError('overloaded', { message, headers: { 'retry-after': '1' } });
      }
      response.once('close', leave);
    }
    // A request to upgrade to h2c may be ignored (RFC 9110, 7.8), but a client of WebSocket cannot go on with HTTP.
    if (headers.upgrade?.toLowerCase() !== 'websocket') return null;
    return new GatewayError('upgradeRefused', { headers: { upgrade: 'HTTP/1.1', connection: 'close' } });
  }
}

/** Whether all HTTP implementations read the request head alike. Node's parser also accepts ambiguous ones, and versions 0.9 and 2.0. */
function isUnambiguous({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  const isSupported = httpVersion === '1.1' || httpVersion === '1.0';
  const coding = headers['transfer-encoding'];
  const isFramed = coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion === '1.1');
  // RFC 9112, 3.2: one Host header in HTTP/1.1, and at most one in HTTP/1.0.
  const hasHost = headers.host === undefined ? httpVersion !== '1.1' : countHosts(rawHeaders) === 1;
  return isSupported && isFramed && hasHost;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
