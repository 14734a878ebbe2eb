import { type AddressRange, AddressRanges, parseAddressRange } from '../../lib/ip-address.ts';

export interface AllowLists {
  /** Canonical ids of the allowed models, some of which may no longer be configured; `null`: every model. */
  readonly models: readonly string[] | null;
  /** Allowed address ranges in the format of `formatAddressRange`; `null`: every network. */
  readonly networks: readonly string[] | null;
}

export const NO_ALLOW_LISTS: AllowLists = { models: null, networks: null };

export type AllowListChange = { readonly [List in keyof AllowLists]?: AllowLists[List] | undefined };

export const ALLOWED_MAX = 100;

/** Parses the allowed address ranges; `null`: every network. Entries were validated when they were set. An invalid one allows nobody. */
export function allowedRanges(networks: readonly string[] | null): AddressRanges | null {
  if (networks === null) return null;
  return new AddressRanges(networks.map(parseAddressRange).filter((range): range is AddressRange => range !== null));
}
