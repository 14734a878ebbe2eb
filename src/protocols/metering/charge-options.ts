import type { ChargeBasis } from './usage-facts.ts';
import type { MillionPriceKey, OnePriceKey } from './usage-units.ts';

type PriceKey = MillionPriceKey | OnePriceKey | 'perImage' | 'perCall';

/** A way to charge for an operation: by token, per image, and so on. It applies to models with the prices for it. */
export interface ChargeOption {
  readonly basis: ChargeBasis;
  /** Sets of prices. At least one set must be complete. */
  readonly prices: readonly (readonly PriceKey[])[];
}

export function byTokens(...prices: readonly (readonly PriceKey[])[]): ChargeOption {
  return { basis: 'tokens', prices };
}

export const byImages: ChargeOption = { basis: 'images', prices: [['perImage']] };
export const bySearchUnits: ChargeOption = { basis: 'searchUnits', prices: [['perSearchUnit']] };
export const byCall: ChargeOption = { basis: 'calls', prices: [['perCall']] };
