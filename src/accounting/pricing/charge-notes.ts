import type { ServiceTerms } from '../../protocols/metering/service-terms.ts';
import type { DoubtedSide } from '../../protocols/metering/usage-facts.ts';
import type { UnitName } from '../../protocols/metering/usage-units.ts';
import type { UsageExcess } from './bounds.ts';
import type { PriceRule } from './price.ts';
import type { RunStep } from './token-rates.ts';

/** How a charge was calculated, as the call record stores it; absent if there is nothing to note. */
export interface ChargeNotes {
  /** Reported usage beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** Sides of the usage whose report cannot be true; they were estimated. */
  readonly doubted?: readonly DoubtedSide[];
  /** Charges for models that the request names inside, by the provider's name. */
  readonly innerModels?: readonly InnerModelNote[];
  /** What determined the prices of tokens besides the price list. */
  readonly pricedBy?: PricedBy;
  /** Keys of prices that the price list lacks for what the call used. */
  readonly unpriced?: readonly string[];
  /** The reserved amount in nano-yuan, if the estimate of what was delivered costs more: the model has no output limit. */
  readonly reservedNano?: string;
}

/** Together with the price list and the usage, this determines the charge. */
export interface PricedBy extends ServiceTerms, RunStep {
  /** Instead of one step: tokens by the step of their run, if the sum of the runs would have another step. */
  readonly steps?: readonly PricedStep[];
  /** Images by price, if the table has several prices. */
  readonly images?: readonly PricedImages[];
}

export type NonzeroCounts = { readonly [Name in UnitName]?: number };

interface PricedStep extends NonzeroCounts, RunStep {
  readonly runs: number;
}

export interface PricedImages {
  readonly count: number;
  readonly priceNano: string;
}

/** Unit prices by name, in nano-yuan as text. Price tables are nested; `null`: the model is not charged this way. */
export interface RecordedPrices {
  readonly [name: string]: string | null | RecordedPrices;
}

/** The usage of an inner model and its charge, which is rounded separately. Amounts are nano-yuan as text. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  /** Includes cached tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
  /** Absent in older records, like the members below. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}
