import type { PriceInForce } from '../accounting/pricing/price.ts';
import type { PricedInnerModel } from '../accounting/pricing/priced-models.ts';
import type { ChargeBasis } from '../protocols/metering/usage-facts.ts';
import type { AllowedModel } from './allowed-models.ts';
import type { ReservationEstimate } from './reservation-estimate.ts';

/** What a call costs, with prices that are in force at the same time. */
export interface CallPricing {
  readonly price: PriceInForce;
  readonly basis: ChargeBasis;
  /** The price factor of the account's group. */
  readonly groupFactorBasisPoints: number;
  readonly inner: readonly (AllowedModel & PricedInnerModel)[];
  /** Maximum use of the call's own model. */
  readonly estimate: ReservationEstimate;
  /** What the call reserves: the maximum use of its own model and of the other models that its request names. */
  readonly reservation: { readonly amountNano: bigint; readonly tokens: number };
}

/** Prices that apply from an instant on. */
export interface PricingSide extends CallPricing {
  readonly fromMs: number;
}
