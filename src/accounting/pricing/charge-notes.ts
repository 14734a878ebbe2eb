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
  /** Sides of the usage whose reported counts cannot be true; they were estimated instead. */
  readonly doubted?: readonly DoubtedSide[];
  /** Usage and charges of the models that the request names besides its own. */
  readonly innerModels?: readonly InnerModelNote[];
  /** What determined the prices, apart from the price list. */
  readonly pricedBy?: PricedBy;
  /** Keys of prices that the call's usage needs and the price list lacks. */
  readonly unpriced?: readonly string[];
  /**
   * The reserved amount in nano-yuan. Present if the estimate of the delivered output costs more, which is possible if the model has no output
   * limit.
   */
  readonly reservedNano?: string;
}

/** The facts that determine the charge, in addition to the price list and the usage. */
export interface PricedBy extends ServiceTerms, RunStep {
  /** Replaces the members of a single step if the sum of the runs would have another step than the runs: the tokens of each step. */
  readonly steps?: readonly PricedStep[];
  /** Number of images at each price, if the table has several prices. */
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

/** Unit prices by name, as text in nano-yuan. Price tables are nested. `null`: the model is not charged this way. */
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
  /** Older records lack this member and the following ones. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}
