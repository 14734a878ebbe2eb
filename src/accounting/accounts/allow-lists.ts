import { type AddressRange, AddressRanges, parseAddressRange } from '../../lib/ip-address.ts';

export interface AllowLists {
  /** Canonical model ids, some of which might no longer be in the configuration; `null`: every model. */
  readonly models: readonly string[] | null;
  /** Address ranges as formatted by `formatAddressRange`; `null`: every network. */
  readonly networks: readonly string[] | null;
}

export const NO_ALLOW_LISTS: AllowLists = { models: null, networks: null };

export type AllowListChange = { readonly [List in keyof AllowLists]?: AllowLists[List] | undefined };

export const ALLOWED_MAX = 100;

/** `null`: every network. Entries were validated when they were set; an invalid entry allows nobody. */
export function allowedRanges(networks: readonly string[] | null): AddressRanges | null {
  if (networks === null) return null;
  return new AddressRanges(networks.map(parseAddressRange).filter((range): range is AddressRange => range !== null));
}
