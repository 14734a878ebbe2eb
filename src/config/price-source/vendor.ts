import { findPreset, type Preset, presetAt } from '../presets.ts';
import type { Vendor } from './model-list.ts';

/** What is known of a vendor, without the protocols that its models are imported for. */
export type VendorFacts = Omit<Vendor, 'protocols'>;

/** The vendor at an address; `null` if it is not known. */
export function vendorAt(baseUrl: string): VendorFacts | null {
  const at = presetAt(baseUrl);
  return at === null ? null : { ...factsOf(at.preset), priceFileNames: at.priceFileNames };
}

export const factsOf = ({ title, priceFileNames, lacks = [] }: Preset): VendorFacts => ({
  title,
  priceFileNames,
  lacks,
});

/** A known vendor, or one that only the price file names. */
export function vendorNamed(name: string): VendorFacts {
  const preset = findPreset(name);
  return preset === null ? { title: name, priceFileNames: [name], lacks: [] } : factsOf(preset);
}
