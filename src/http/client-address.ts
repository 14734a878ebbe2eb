import type { IncomingMessage } from 'node:http';
import { type AddressRange, AddressRanges, canonicalAddress, clientNetwork, widerNetworks } from '../lib/ip-address.ts';

interface Peer {
  /** Canonical; empty if the connection is closed. */
  readonly address: string;
  readonly network: string;
  readonly isTrusted: boolean;
}

const PEERS_MAX = 1_000;

/**
 * Finds the client addresses by which connections and refusals are counted. `X-Forwarded-For` is used only from a trusted proxy. Its last
 * address that is not a trusted proxy is the client: clients can forge earlier ones.
 */
export class ClientAddresses {
  readonly #trusted: AddressRanges;
  /** Recent peers by the system's spelling of their address. A cache, because each request needs its peer several times. */
  readonly #peers = new Map<string, Peer>();

  constructor(trustedProxies: readonly AddressRange[]) {
    this.#trusted = new AddressRanges(trustedProxies);
  }

  /** The network of a connection's peer; `null` for a trusted proxy, which serves many clients. */
  ofPeer(peerAddress: string | undefined): string | null {
    const { network, isTrusted } = this.#peerOf(peerAddress);
    return isTrusted ? null : network;
  }

  /** The network of a request's client, even behind trusted proxies. */
  ofRequest(request: IncomingMessage): string {
    const peer = this.#peerOf(request.socket.remoteAddress);
    return peer.isTrusted ? clientNetwork(this.#forwardedFor(request, peer.address)) : peer.network;
  }

  /** The internet access line of a request's client (see `widerNetworks`), which can have many networks. */
  lineOf(request: IncomingMessage): string {
    return widerNetworks(this.ofRequest(request)).line;
  }

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

  #forwardedFor(request: IncomingMessage, proxy: string): string {
    let client = proxy;
    // Node joins several header lines with commas.
    const listed = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let entry = listed.pop(); entry !== undefined; entry = listed.pop()) {
      const address = readForwarded(entry.trim());
      // An entry that is not an address is not trusted, and neither are the entries before it.
      if (address === null) break;
      client = address;
      if (!this.#trusted.has(address)) break;
    }
    return client;
  }
}

/** Returns the address in an entry, without the port that some proxies append; `null` if there is none. */
function readForwarded(entry: string): string | null {
  const withPort = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry);
  return canonicalAddress(withPort?.[1] ?? entry);
}
