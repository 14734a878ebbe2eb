import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AddressRanges, canonicalAddress, isPublicAddress } from '../ip-address.ts';

/** This file allows requests to configured addresses only to the public internet, and to networks that the operator allows. */

/** Resolves a hostname. Returns no address if it is unknown. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/** A URL that was checked. A connection may go only to `addresses`. */
export interface CheckedTarget {
  readonly url: URL;
  readonly addresses: readonly string[];
}

/** Thrown if a URL is refused. The message tells the person who configured it why. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError';
}

const URL_LENGTH_MAX = 2_000;

/** Parses a URL. @throws TargetRefusedError if it is refused, whatever the addresses of its host are */
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
  // A host that is an address is checked at once; a name is checked when it is resolved.
  if (isIP(host) !== 0) checkAddresses(url, [host], allowed);
  return url;
}

/**
 * Resolves the host once and checks all addresses. The connection uses exactly these, because another query could return different ones
 * (DNS rebinding).
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

/** Checks addresses. The client may connect to any of them, so one that is refused refuses all. */
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

/** Resolves by sockets: `getaddrinfo` would occupy a thread that also writes files until a foreign name server responds. */
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
