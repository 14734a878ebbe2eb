import { findPreset, presetAt } from '../../config/presets.ts';
import type { Vendor } from '../../config/price-source/model-list.ts';
import { factsOf, type VendorFacts, vendorAt, vendorNamed } from '../../config/price-source/vendor.ts';
import type { Config } from '../../config/schema.ts';
import { UsageError } from '../command.ts';
import { unknownVendor } from '../preset-reference.ts';
import type { RouteTo } from './model-yaml.ts';

/** Vendor of the imported models, and the providers of their routes. */
export interface Target {
  readonly vendor: Vendor;
  readonly providers: readonly RouteTo[];
}

/**
 * Finds a vendor and its providers by the name of a configured provider or of a known vendor. A configured provider is combined with those
 * of other protocols at the same vendor; a known vendor has the providers that `faregate init` writes for it.
 *
 * @param vendorName the vendor whose prices apply; absent: that of the address or name
 * @throws UsageError
 */
export function targetOf(name: string, vendorName: string | undefined, config: Config | null): Target {
  const configured = config?.providers ?? {};
  const own = Object.hasOwn(configured, name) ? configured[name]! : null;
  const preset = findPreset(name);
  if (own === null) {
    if (preset === null) throw new UsageError(unknownVendor('--provider', name, Object.keys(configured)));
    return target(preset.providers, vendorName === undefined ? factsOf(preset) : vendorNamed(vendorName));
  }

  const at = presetAt(own.baseUrl);
  const providers: RouteTo[] = [{ name, protocol: own.protocol }];
  for (const [other, { protocol, baseUrl }] of Object.entries(configured)) {
    const isOfVendor = at !== null && presetAt(baseUrl)?.preset === at.preset;
    if (isOfVendor && providers.every((each) => each.protocol !== protocol)) providers.push({ name: other, protocol });
  }
  if (vendorName !== undefined) return target(providers, vendorNamed(vendorName));
  const unknown = { title: `the provider ${name}`, priceFileNames: null, lacks: [] };
  return target(providers, vendorAt(own.baseUrl) ?? unknown);
}

const target = (providers: readonly RouteTo[], facts: VendorFacts): Target => ({
  vendor: { ...facts, protocols: providers.map(({ protocol }) => protocol) },
  providers: providers.map(({ name, protocol }) => ({ name, protocol })),
});
