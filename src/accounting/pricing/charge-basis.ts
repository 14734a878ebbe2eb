import type { ChargeOption } from '../../protocols/metering/charge-options.ts';
import type { ChargeBasis } from '../../protocols/metering/usage-facts.ts';
import type { UnitPrices } from './charge.ts';

/** The basis on which an operation is charged at these prices: the last of its options that has a price, else the first. */
export function chargeBasis(
  { charge }: { readonly charge: readonly [ChargeOption, ...ChargeOption[]] },
  prices: UnitPrices,
): ChargeBasis {
  return (charge.findLast((option) => isPriced(option.basis, prices)) ?? charge[0]).basis;
}

/** Whether these prices have one for the basis. */
function isPriced(basis: ChargeBasis, { perImageNano, perSearchUnitNano, perCallNano }: UnitPrices): boolean {
  switch (basis) {
    case 'tokens':
      return true;
    case 'images':
      return perImageNano !== null;
    case 'searchUnits':
      return perSearchUnitNano !== null;
    case 'calls':
      return perCallNano !== null;
  }
}
