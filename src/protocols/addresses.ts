import { isIP } from 'node:net';
import { isPublicAddress } from '../lib/ip-address.ts';
import { withoutTrailing } from '../lib/trailing.ts';

/** Addresses in requests. */

const COLON = 0x3a;
const SCHEME_BYTES_MAX = 32;
/** The scheme of the address that begins at `start`, in small letters; `null`: the text is none. */
export function schemeAt(bytes: Buffer, start: number): string | null {
  for (let at = start; at < start + SCHEME_BYTES_MAX; at++) {
    const byte = bytes[at]!;
    if (byte === COLON) {
      const scheme = bytes.toString('latin1', start, at).toLowerCase();
      // In JSON, a slash may have a backslash before it.
      const isAddress = /^:(?:\\?\/){2}/.test(bytes.toString('latin1', at, at + 5)) || scheme === 'data';
      return isAddress ? scheme : null;
    }
    if (!isSchemeByte(byte)) return null;
  }
  return null;
}

function isSchemeByte(byte: number): boolean {
  const small = byte | 0x20;
  return (small >= 0x61 && small <= 0x7a) || (byte >= 0x2b && byte <= 0x39 && byte !== 0x2c && byte !== 0x2f);
}

/** Whether a text is the address of a server on the internet, and not one of the provider's own network. */
export function isPublicServer(text: string | null): boolean {
  const url = text === null ? null : URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const host = withoutTrailing(url.hostname, '.');
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0) return isPublicAddress(address);
  return host.includes('.') && !OWN_DOMAINS.some((domain) => host.endsWith(domain));
}

/** Domains that no server on the internet has. */
const OWN_DOMAINS = [
  '.internal',
  '.local',
  '.localhost',
  '.localdomain',
  '.lan',
  '.home.arpa',
  '.intranet',
  '.corp',
  '.svc',
];
