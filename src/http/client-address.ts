import type { IncomingMessage } from 'node:http';
import { type AddressRange, AddressRanges, canonicalAddress, clientNetwork, widerNetworks } from '../lib/ip-address.ts';

/** The other side of a connection. */
interface Peer {
  /** In its canonical form; empty if the connection is gone. */
  readonly address: string;
  readonly network: string;
  readonly isTrusted: boolean;
}

const PEERS_MAX = 1_000;

/**
 * Finds the addresses by which connections and refusals of clients are counted. `X-Forwarded-For` counts only if a trusted proxy sent it, and
 * of its addresses the last one that is not a trusted proxy's: a client may put anything in front of it.
 */
export class ClientAddresses {
  readonly #trusted: AddressRanges;
  /** The last peers, as the system writes them: each request asks several times. */
  readonly #peers = new Map<string, Peer>();

  constructor(trustedProxies: readonly AddressRange[]) {
    this.#trusted = new AddressRanges(trustedProxies);
  }

  /** The network of the peer of a connection; `null` for a trusted proxy, which has many clients. */
  ofPeer(peerAddress: string | undefined): string | null {
    const { network, isTrusted } = this.#peerOf(peerAddress);
    return isTrusted ? null : network;
  }

  /** The network of the client that sent a request, also behind trusted proxies. */
  ofRequest(request: IncomingMessage): string {
    const peer = this.#peerOf(request.socket.remoteAddress);
    return peer.isTrusted ? clientNetwork(this.#forwardedFor(request, peer.address)) : peer.network;
  }

  /** The home line of that client, which may have many networks. */
  lineOf(request: IncomingMessage): string {
    return widerNetworks(this.ofRequest(request)).line;
  }

  /** The very address of that client; empty if its connection is gone. */
  exactOf(request: IncomingMessage): string {
    const peer = this.#peerOf(request.socket.remoteAddress);
    return peer.isTrusted ? this.#forwardedFor(request, peer.address) : peer.address;
  }

  #peerOf(text = ''): Peer {
    let peer = this.#peers.get(text);
    if (peer === undefined) {
      const address = canonicalAddress(text) ?? '';
      peer = { address, network: clientNetwork(address), isTrusted: this.#trusted.has(address) };
      if (this.#peers.size === PEERS_MAX) this.#peers.clear();
      this.#peers.set(text, peer);
    }
    return peer;
  }

  /** The client for which a trusted proxy sent a request. */
  #forwardedFor(request: IncomingMessage, proxy: string): string {
    let client = proxy;
    // Several lines arrive as one, joined with commas.
    const listed = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let entry = listed.pop(); entry !== undefined; entry = listed.pop()) {
      const address = readForwarded(entry.trim());
      // An entry that is no address is not trusted, nor is anything in front of it.
      if (address === null) break;
      client = address;
      if (!this.#trusted.has(address)) break;
    }
    return client;
  }
}

/** Some proxies add the port. */
function readForwarded(entry: string): string | null {
  const withPort = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry);
  return canonicalAddress(withPort?.[1] ?? entry);
}
