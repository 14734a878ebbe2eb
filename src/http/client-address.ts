import type { IncomingMessage } from 'node:http';
import { type AddressRange, AddressRanges, canonicalAddress, clientNetwork, widerNetworks } from '../lib/ip-address.ts';

interface Peer {
  /** Address in canonical form; empty if the connection is closed. */
  readonly address: string;
  readonly network: string;
  readonly isTrusted: boolean;
}

const PEERS_MAX = 1_000;

/**
 * Finds the client addresses by which connections and refusals are counted. `X-Forwarded-For` counts only if a trusted proxy sent it. The
 * client is its last address that is no trusted proxy, because clients can forge earlier ones.
 */
export class ClientAddresses {
  readonly #trusted: AddressRanges;
  /** Recent peers by their address, in the system's spelling. Cached, because each request needs its peer several times. */
  readonly #peers = new Map<string, Peer>();

  constructor(trustedProxies: readonly AddressRange[]) {
    this.#trusted = new AddressRanges(trustedProxies);
  }

  /** Returns the network of a connection's peer; `null` for a trusted proxy, which serves many clients. */
  ofPeer(peerAddress: string | undefined): string | null {
    const { network, isTrusted } = this.#peerOf(peerAddress);
    return isTrusted ? null : network;
  }

  /** Returns the network of a request's client, also behind trusted proxies. */
  ofRequest(request: IncomingMessage): string {
    const peer = this.#peerOf(request.socket.remoteAddress);
    return peer.isTrusted ? clientNetwork(this.#forwardedFor(request, peer.address)) : peer.network;
  }

  /** Returns the internet access line of a request's client (see `widerNetworks`). A line can have many networks. */
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
    // If the header is repeated, Node joins its lines with commas.
    const listed = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let entry = listed.pop(); entry !== undefined; entry = listed.pop()) {
      const address = readForwarded(entry.trim());
      // An entry that is not an address is not trusted, and neither are those before it.
      if (address === null) break;
      client = address;
      if (!this.#trusted.has(address)) break;
    }
    return client;
  }
}

/** Returns the address of an entry, without the port that some proxies append; `null`: it is not an address. */
function readForwarded(entry: string): string | null {
  const withPort = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry);
  return canonicalAddress(withPort?.[1] ?? entry);
}
