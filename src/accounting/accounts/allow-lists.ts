import { type AddressRange, AddressRanges, parseAddressRange } from '../../lib/ip-address.ts';

/**
 * The allow-lists of a key: which models it may call, and from which client networks it may be used. They are part of its
 * standing, which authentication caches, so no call asks the database for them.
 */
export interface AllowLists {
  /** Canonical ids, which the configuration may have lost since; `null`: every model. */
  readonly models: readonly string[] | null;
  /** Made by `formatAddressRange`; `null`: from everywhere. */
  readonly networks: readonly string[] | null;
}

export const NO_ALLOW_LISTS: AllowLists = { models: null, networks: null };

/** Lists to set; what is absent stays as it is. */
export type AllowListChange = { readonly [List in keyof AllowLists]?: AllowLists[List] | undefined };

/** The most entries of a list: the standings of many keys are in memory. */
export const ALLOWED_MAX = 100;

/** The networks of an allow-list. An entry that cannot be read, which none is that was checked, allows nobody. */
export function allowedRanges(networks: readonly string[] | null): AddressRanges | null {
  if (networks === null) return null;
  return new AddressRanges(networks.map(parseAddressRange).filter((range): range is AddressRange => range !== null));
}
