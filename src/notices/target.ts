import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AddressRanges, canonicalAddress, isPublicAddress } from '../lib/ip-address.ts';

/** Checks whether notices can be sent to an address: it must be on the public internet or in a network that the operator allows. */

/** Resolves a hostname to all its addresses. The result is empty if the hostname is unknown. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/** A checked URL and the addresses to which a connection is allowed. */
export interface CheckedTarget {
  readonly url: URL;
  readonly addresses: readonly string[];
}

/** The address is not allowed. The message explains the reason to the person who configured it. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError';
}

const URL_LENGTH_MAX = 2_000;

/** Parses an endpoint URL. @throws TargetRefusedError if it is refused regardless of what its host resolves to. */
export function parseTarget(text: string, allowed: AddressRanges): URL {
  if (text.length > URL_LENGTH_MAX) throw new TargetRefusedError(`Use at most ${URL_LENGTH_MAX} characters.`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TargetRefusedError('Expected an address such as https://receiver.example/webhook.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TargetRefusedError(
      'The address must not contain a user or password; receivers verify the signature instead.',
    );
  }
  if (url.hash !== '') throw new TargetRefusedError('The address must not contain a fragment.');
  const host = hostOf(url);
  // A hostname is not checked yet: whether it is in an allowed network is known only after it is resolved.
  if (isIP(host) !== 0) checkAddresses(url, [host], allowed);
  return url;
}

/**
 * Resolves the endpoint's host once and checks all of its addresses. The connection uses these addresses without another lookup, which
 * could return different ones (DNS rebinding).
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
  if (addresses.length === 0) throw new TargetRefusedError('The host of the address could not be resolved.');
  return { url, addresses: checkAddresses(url, addresses, allowed) };
}

/** Refuses all addresses if one is not allowed, because the client may connect to any of them. */
function checkAddresses(url: URL, addresses: readonly string[], allowed: AddressRanges): string[] {
  const canonical = addresses.map((address) => canonicalAddress(address));
  if (!canonical.every((address) => address !== null && (allowed.has(address) || isPublicAddress(address)))) {
    throw new TargetRefusedError('The address is not on the public internet, and the operator has not allowed it.');
  }
  const known = canonical as string[];
  if (url.protocol === 'http:' && !known.every((address) => allowed.has(address))) {
    throw new TargetRefusedError('The address must use https.');
  }
  return known;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Resolves with queries over sockets. `getaddrinfo` would occupy a thread that also writes files, until a foreign name server responds. */
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
