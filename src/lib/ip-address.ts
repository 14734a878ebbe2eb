import { BlockList, isIP, SocketAddress } from 'node:net';

/**
 * An address in the one form that all spellings of it have in common: IPv6 shortened and without a zone, IPv4 in IPv6 as
 * IPv4. `null` where the text is no address.
 */
export function canonicalAddress(text: string): string | null {
  const address = text.replace(/%.*$/s, '');
  if (isIP(address) === 4) return address;
  if (isIP(address) !== 6) return null;
  const shortened = new SocketAddress({ address, family: 'ipv6' }).address;
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(shortened)?.[1] ?? shortened;
}

/**
 * The network that one client is likely to have for itself: an IPv4 address, or an IPv6 network of 64 bits. For a
 * canonical address.
 */
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

/** An address, or a range such as `10.0.0.0/8` or `2001:db8::/32`. */
export interface AddressRange {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly prefixBits: number;
}

/** `null` where the text is neither an address nor a range. */
export function parseAddressRange(text: string): AddressRange | null {
  const [, given = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(given) === 0) return null;
  const family = isIP(given) === 4 ? 'ipv4' : 'ipv6';
  const bitsMax = family === 'ipv4' ? 32 : 128;
  const prefixBits = bits === undefined ? bitsMax : Number(bits);
  if (prefixBits > bitsMax) return null;
  const address = canonicalAddress(given)!;
  // An IPv4 address that is written as IPv6.
  if (family === 'ipv6' && !address.includes(':')) {
    return prefixBits < 96 ? null : { address, family: 'ipv4', prefixBits: prefixBits - 96 };
  }
  return { address, family, prefixBits };
}

/** A range in one form: a single address without its length. */
export function formatAddressRange({ address, family, prefixBits }: AddressRange): string {
  return prefixBits === (family === 'ipv4' ? 32 : 128) ? address : `${address}/${prefixBits}`;
}

/** A set of ranges of addresses. */
export class AddressRanges {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  constructor(ranges: readonly AddressRange[]) {
    this.#isEmpty = ranges.length === 0;
    for (const { address, prefixBits, family } of ranges) this.#list.addSubnet(address, prefixBits, family);
  }

  /** For a canonical address; the empty text of a connection that is gone is in no range. */
  has(address: string): boolean {
    return !this.#isEmpty && address !== '' && this.#list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  }
}
