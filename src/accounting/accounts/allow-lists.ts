import { type AddressRange, AddressRanges, parseAddressRange } from '../../lib/ip-address.ts';

/**
 * The models that a key may call and the networks that may use the key. Both are cached with the status of the key, so calls do not query
 * them.
 */
export interface AllowLists {
  /** Canonical model ids, some of which might no longer be in the configuration; `null`: every model. */
  readonly models: readonly string[] | null;
  /** Address ranges as formatted by `formatAddressRange`; `null`: every network. */
  readonly networks: readonly string[] | null;
}

export const NO_ALLOW_LISTS: AllowLists = { models: null, networks: null };

export type AllowListChange = { readonly [List in keyof AllowLists]?: AllowLists[List] | undefined };

/** Maximum number of entries in a list. The lists of many keys are cached in memory. */
export const ALLOWED_MAX = 100;

/**
 * Parses an allow-list of networks; `null`: every network. Entries are validated when they are set; an entry that cannot be parsed allows
 * nobody.
 */
export function allowedRanges(networks: readonly string[] | null): AddressRanges | null {
  if (networks === null) return null;
  return new AddressRanges(networks.map(parseAddressRange).filter((range): range is AddressRange => range !== null));
}
