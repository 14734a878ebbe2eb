import type { IncomingMessage } from 'node:http';
import { type AddressRange, AddressRanges, canonicalAddress, clientNetwork, widerNetworks } from '../lib/ip-address.ts';

/** The addresses by which connections and refusals of clients are counted. */
export type ClientAddresses = ReturnType<typeof createClientAddresses>;

/**
 * Finds the address of a client. `X-Forwarded-For` counts only if a trusted proxy sent it, and of its addresses the
 * last one that is not a trusted proxy's: a client may put anything in front of it.
 */
export function createClientAddresses(trustedProxies: readonly AddressRange[]) {
  const trusted = new AddressRanges(trustedProxies);
  /** What peers said lately, as it is written here: each request asks several times. */
  const known = new Map<string, string>();

  function peerOf(text: string | undefined): string {
    if (text === undefined) return '';
    let peer = known.get(text);
    if (peer === undefined) {
      peer = canonicalAddress(text) ?? '';
      if (known.size === KNOWN_MAX) known.clear();
      known.set(text, peer);
    }
    return peer;
  }

  function clientOf(request: IncomingMessage): string {
    const peer = peerOf(request.socket.remoteAddress);
    if (!trusted.has(peer)) return peer;
    let client = peer;
    // Several lines arrive as one, joined with commas.
    const listed = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (let entry = listed.pop(); entry !== undefined; entry = listed.pop()) {
      const address = readForwarded(entry.trim());
      // An entry that is no address is not trusted, nor is anything in front of it.
      if (address === null) break;
      client = address;
      if (!trusted.has(address)) break;
    }
    return client;
  }

  return {
    /** The network of the peer of a connection; `null` for a trusted proxy, which has many clients. */
    ofPeer(peerAddress: string | undefined): string | null {
      const peer = peerOf(peerAddress);
      return trusted.has(peer) ? null : clientNetwork(peer);
    },
    /** The network of the client that sent a request, also behind trusted proxies. */
    ofRequest: (request: IncomingMessage): string => clientNetwork(clientOf(request)),
    /** The home line of that client, which may have many networks. */
    lineOf: (request: IncomingMessage): string => widerNetworks(clientNetwork(clientOf(request))).line,
    /** The very address of that client; empty if its connection is gone. */
    exactOf: clientOf,
  };
}

const KNOWN_MAX = 1_000;

/** Some proxies add the port. */
function readForwarded(entry: string): string | null {
  const withPort = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry);
  return canonicalAddress(withPort?.[1] ?? entry);
}
