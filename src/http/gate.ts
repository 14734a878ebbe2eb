import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors/gateway-error.ts';
import { AtATime } from '../lib/fair/at-a-time.ts';
import type { ClientAddresses } from './client-address.ts';

/** Refuses requests that are not served at any address. */
export class Gate {
  readonly #isClosing: () => boolean;
  readonly #addresses: ClientAddresses;
  /** A trusted proxy has connections for many clients, so the requests of each client are counted there. */
  readonly #behindProxies: AtATime;

  /** `perClientMax`: the most requests of one client behind a trusted proxy at a time. */
  constructor(isClosing: () => boolean, addresses: ClientAddresses, perClientMax: number) {
    this.#isClosing = isClosing;
    this.#addresses = addresses;
    this.#behindProxies = new AtATime(perClientMax);
  }

  /** The refusal of a request; `null` if it passes. */
  judge(request: IncomingMessage, response: ServerResponse): GatewayError | null {
    if (this.#isClosing()) return new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    const { headers, socket } = request;
    if (!hasClearHead(request)) return new GatewayError('malformedHttp', { headers: { connection: 'close' } });
    if (this.#addresses.ofPeer(socket.remoteAddress) === null) {
      const leave = this.#behindProxies.take(this.#addresses.ofRequest(request));
      if (leave === null) {
        const message = 'As many requests of this client are under way as the gateway takes from one.';
        return new GatewayError('overloaded', { message, headers: { 'retry-after': '1' } });
      }
      response.once('close', leave);
    }
    // An offer to speak h2c may be ignored (RFC 9110, 7.8); a client that asks for a WebSocket waits for a response.
    if (headers.upgrade?.toLowerCase() !== 'websocket') return null;
    return new GatewayError('upgradeRefused', { headers: { upgrade: 'HTTP/1.1', connection: 'close' } });
  }
}

/** Whether the head has nothing that the parser lets pass but two readers could understand differently. */
function hasClearHead({ headers, httpVersion, rawHeaders }: IncomingMessage): boolean {
  // The parser takes 0.9 and 2.0 for versions of the same kind.
  const isSpoken = httpVersion === '1.1' || httpVersion === '1.0';
  const coding = headers['transfer-encoding'];
  const isFramed = coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion === '1.1');
  // RFC 9112, 3.2: one Host in HTTP/1.1, and never two.
  const isAddressed = headers.host === undefined ? httpVersion !== '1.1' : countHosts(rawHeaders) === 1;
  return isSpoken && isFramed && isAddressed;
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
