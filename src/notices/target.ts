import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AddressRanges, canonicalAddress, isPublicAddress } from '../lib/ip-address.ts';

/** Where notices may be sent to: the public internet, and networks that the operator allows. */

/** Returns all addresses of a host; none if there is no such host. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/** An address to which a notice may be sent, and no other. */
export interface CheckedTarget {
  readonly url: URL;
  readonly addresses: readonly string[];
}

/** Nothing may be sent to the address; the message says why, in words for whoever set it. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError';
}

const URL_LENGTH_MAX = 2_000;

/** Parses the address of an endpoint. @throws TargetRefusedError if it can be none, whatever its host resolves to. */
export function parseTarget(text: string, allowed: AddressRanges): URL {
  if (text.length > URL_LENGTH_MAX) throw new TargetRefusedError(`At most ${URL_LENGTH_MAX} characters.`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TargetRefusedError('Expected an address such as https://receiver.example/webhook.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TargetRefusedError('The address must not have a user or a password; the signature says who sends.');
  }
  if (url.hash !== '') throw new TargetRefusedError('The address must not have a fragment.');
  const host = hostOf(url);
  // A name may be in an allowed network, which is seen when it is resolved.
  if (isIP(host) !== 0) checkAddresses(url, [host], allowed);
  return url;
}

/**
 * Resolves the host of an endpoint once, and checks every address that it has. Whoever connects uses these addresses and
 * asks no name server again, which could respond otherwise.
 *
 * @throws TargetRefusedError
 */
export async function resolveTarget(
  text: string,
  allowed: AddressRanges,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<CheckedTarget> {
  const url = parseTarget(text, allowed);
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host];
  if (addresses.length === 0) throw new TargetRefusedError('The host of the address is not known.');
  return { url, addresses: checkAddresses(url, addresses, allowed) };
}

/** One address inside is enough to refuse all: which one would be connected to is not ours to say. */
function checkAddresses(url: URL, addresses: readonly string[], allowed: AddressRanges): string[] {
  const canonical = addresses.map((address) => canonicalAddress(address));
  if (!canonical.every((address) => address !== null && (allowed.has(address) || isPublicAddress(address)))) {
    throw new TargetRefusedError('The address is not on the public internet, and the operator has not allowed it.');
  }
  const known = canonical as string[];
  if (url.protocol === 'http:' && !known.every((address) => allowed.has(address))) {
    throw new TargetRefusedError('Only https is possible here.');
  }
  return known;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Asks the name servers of this machine, by a resolver that waits on sockets. The one of the operating system would take one of
 * the few threads that files are written by, for as long as a name server of somebody else likes.
 */
export const resolveByName: Resolve = async (hostname, signal) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const onAbort = (): void => resolver.cancel();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.throwIfAborted();
    return found.flatMap((response) => (response.status === 'fulfilled' ? response.value : []));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};
