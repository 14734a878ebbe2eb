import { type AddressRange, AddressRanges, parseAddressRange } from '../../lib/ip-address.ts';

/** The models that a key may call and the networks that may use it. Both are cached with its status, so calls do not query them. */
export interface AllowLists {
  /** Canonical ids, which may have left the configuration since; `null`: every model. */
  readonly models: readonly string[] | null;
  /** As `formatAddressRange` formats them; `null`: every network. */
  readonly networks: readonly string[] | null;
}

export const NO_ALLOW_LISTS: AllowLists = { models: null, networks: null };

export type AllowListChange = { readonly [List in keyof AllowLists]?: AllowLists[List] | undefined };

/** Maximum entries of a list, because many keys are cached in memory. */
export const ALLOWED_MAX = 100;

/** Ranges of an allow-list; `null`: every network. Entries are checked when they are set; one that cannot be parsed allows nobody. */
export function allowedRanges(networks: readonly string[] | null): AddressRanges | null {
  if (networks === null) return null;
  return new AddressRanges(networks.map(parseAddressRange).filter((range): range is AddressRange => range !== null));
}
