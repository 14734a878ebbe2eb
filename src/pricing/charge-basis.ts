import type { ChargeBasis } from '../metering/usage-facts.ts';
import type { MillionPriceKey, OnePriceKey } from '../metering/usage-units.ts';
import type { UnitPrices } from './charge.ts';

/** A key of the prices of a model in the configuration. */
export type PriceKey = MillionPriceKey | OnePriceKey | 'perImage' | 'perCall';

/** One of the ways to charge for an operation. */
export interface ChargeOption {
  readonly basis: ChargeBasis;
  /** Lists of prices of which one has to be complete. */
  readonly prices: readonly (readonly PriceKey[])[];
  /** Whether a model has these prices, and so is charged this way. */
  isPriced(prices: UnitPrices): boolean;
}

/** By tokens, where nothing else is priced. */
export function byTokens(...prices: readonly (readonly PriceKey[])[]): ChargeOption {
  return { basis: 'tokens', prices, isPriced: () => true };
}

export const byImages: ChargeOption = {
  basis: 'images',
  prices: [['perImage']],
  isPriced: ({ perImageNano }) => perImageNano !== null,
};

export const bySearchUnits: ChargeOption = {
  basis: 'searchUnits',
  prices: [['perSearchUnit']],
  isPriced: ({ perSearchUnitNano }) => perSearchUnitNano !== null,
};

export const byCall: ChargeOption = {
  basis: 'calls',
  prices: [['perCall']],
  isPriced: ({ perCallNano }) => perCallNano !== null,
};

/** What an operation is charged by at these prices: the last of its options that is priced, else the first. */
export function chargeBasis(
  { charge }: { readonly charge: readonly [ChargeOption, ...ChargeOption[]] },
  prices: UnitPrices,
): ChargeBasis {
  return (charge.findLast((option) => option.isPriced(prices)) ?? charge[0]).basis;
}
