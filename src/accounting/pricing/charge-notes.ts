import type { ServiceTerms } from '../../protocols/metering/service-terms.ts';
import type { DoubtedSide } from '../../protocols/metering/usage-facts.ts';
import type { UnitName } from '../../protocols/metering/usage-units.ts';
import type { UsageExcess } from './bounds.ts';
import type { PriceRule } from './price.ts';
import type { RunStep } from './token-rates.ts';

export interface ChargeNotes {
  /** Usage beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** Sides whose reported counts cannot be true; they were estimated instead. */
  readonly doubted?: readonly DoubtedSide[];
  readonly innerModels?: readonly InnerModelNote[];
  /** What determined the prices, apart from the price list. */
  readonly pricedBy?: PricedBy;
  /** Keys of prices that the usage needs and the price list lacks. */
  readonly unpriced?: readonly string[];
  /**
   * The reserved amount in nano-yuan. Present if estimated output costs more than this, which is possible if the model has no output limit.
   */
  readonly reservedNano?: string;
}

export interface PricedBy extends ServiceTerms, RunStep {
  /** The tokens of each price step. Replaces the single step if the runs have other steps than their sum would have. */
  readonly steps?: readonly PricedStep[];
  /** Present if the price table has several prices. */
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

/** Prices in nano-yuan by name. The value of a price table is an object of the same type. `null`: the model is not charged this way. */
export interface RecordedPrices {
  readonly [name: string]: string | null | RecordedPrices;
}

/** The charge is rounded separately. Amounts are nano-yuan as text. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  /** Cached tokens are included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
  /** Older records lack this member and the following ones. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}
