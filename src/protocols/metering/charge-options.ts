import type { ChargeBasis } from './usage-facts.ts';
import type { MillionPriceKey, OnePriceKey } from './usage-units.ts';

/** A key of the prices of a model in the configuration. */
type PriceKey = MillionPriceKey | OnePriceKey | 'perImage' | 'perCall';

/** One of the ways to charge for an operation. A model that has its prices is charged this way (`accounting/pricing/charge.ts`). */
export interface ChargeOption {
  readonly basis: ChargeBasis;
  /** Lists of prices of which one has to be complete. */
  readonly prices: readonly (readonly PriceKey[])[];
}

/** By tokens, if nothing else is priced. */
export function byTokens(...prices: readonly (readonly PriceKey[])[]): ChargeOption {
  return { basis: 'tokens', prices };
}

export const byImages: ChargeOption = { basis: 'images', prices: [['perImage']] };
export const bySearchUnits: ChargeOption = { basis: 'searchUnits', prices: [['perSearchUnit']] };
export const byCall: ChargeOption = { basis: 'calls', prices: [['perCall']] };
