import { BlockList, isIP, SocketAddress } from 'node:net';
import { upTo } from './trailing.ts';

/** Returns the canonical form: IPv6 shortened and without a zone, IPv4-mapped IPv6 as IPv4; `null` if the text is not an address. */
export function canonicalAddress(text: string): string | null {
  const address = upTo(text, '%');
  if (isIP(address) === 4) return address;
  if (isIP(address) !== 6) return null;
  const shortened = new SocketAddress({ address, family: 'ipv6' }).address;
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(shortened)?.[1] ?? shortened;
}

/** Returns the network that usually belongs to one client: an IPv4 address, or an IPv6 /64 network. `address` must be canonical. */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? 0 : tail.split(':').length;
    while (groups.length < 8 - last && groups.length < 4) groups.push('0');
    groups.push(...(tail === '' ? [] : tail.split(':')));
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/**
 * Returns the networks that internet providers assign: a /56 to a home line and a /48 to a site. An IPv4 address is its own line and site.
 * @param network the result of `clientNetwork`
 */
export function widerNetworks(network: string): { readonly line: string; readonly site: string } {
  if (!network.endsWith('::/64')) return { line: network, site: network };
  const groups = network.slice(0, -'::/64'.length).split(':');
  const site = groups.slice(0, 3).join(':');
  const line = (Number.parseInt(groups[3]!, 16) & 0xff00).toString(16);
  return { line: `${site}:${line}::/56`, site: `${site}::/48` };
}

/** A range of addresses, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. */
export interface AddressRange {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly prefixBits: number;
}

/** Parses an address or a range; `null`: the text is neither. */
export function parseAddressRange(text: string): AddressRange | null {
  const [, given = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(given) === 0) return null;
  const family = isIP(given) === 4 ? 'ipv4' : 'ipv6';
  const bitsMax = family === 'ipv4' ? 32 : 128;
  const prefixBits = bits === undefined ? bitsMax : Number(bits);
  if (prefixBits > bitsMax) return null;
  const address = canonicalAddress(given)!;
  // An IPv6 address that stands for an IPv4 address.
  if (family === 'ipv6' && !address.includes(':')) {
    return prefixBits < 96 ? null : { address, family: 'ipv4', prefixBits: prefixBits - 96 };
  }
  return { address, family, prefixBits };
}

/** Returns the canonical form of a range. A single address has no prefix length. */
export function formatAddressRange({ address, family, prefixBits }: AddressRange): string {
  return prefixBits === (family === 'ipv4' ? 32 : 128) ? address : `${address}/${prefixBits}`;
}

export class AddressRanges {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  constructor(ranges: readonly AddressRange[]) {
    this.#isEmpty = ranges.length === 0;
    for (const { address, prefixBits, family } of ranges) this.#list.addSubnet(address, prefixBits, family);
  }

  /** Whether a range contains an address, which must be canonical. The empty address of a closed connection is in no range. */
  has(address: string): boolean {
    return !this.#isEmpty && address !== '' && this.#list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  }
}

/** Addresses outside of the public internet (IANA's special-purpose registries), and a cloud's public metadata address (168.63.129.16). */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Addresses for special purposes in 2000::/3. Teredo (in 2001::/23) and 6to4 (2002::/16) lead to any IPv4 address. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

const special = new AddressRanges([...SPECIAL_IPV4, ...SPECIAL_IPV6].map((text) => parseAddressRange(text)!));
/** Global unicast addresses. They exclude loopback, link-local, private, multicast and NAT64 addresses. */
const globalIpv6 = new AddressRanges([parseAddressRange('2000::/3')!]);

/** Whether a text is a public address, in any spelling. False if it is not an address. */
export function isPublicAddress(text: string): boolean {
  const address = canonicalAddress(text);
  if (address === null || special.has(address)) return false;
  return !address.includes(':') || globalIpv6.has(address);
}
