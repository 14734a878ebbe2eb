import type { ServiceTerms } from '../../protocols/metering/service-terms.ts';
import type { DoubtedSide } from '../../protocols/metering/usage-facts.ts';
import type { UnitName } from '../../protocols/metering/usage-units.ts';
import type { UsageExcess } from './bounds.ts';
import type { PriceRule } from './price.ts';
import type { RunStep } from './token-rates.ts';

/** How a charge came about, as the record of its call has it; absent if there is nothing. */
export interface ChargeNotes {
  /** What the provider reported beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** What the provider reported although it cannot be true; it was estimated. */
  readonly doubted?: readonly DoubtedSide[];
  /** What was charged for models that the request named inside, by the provider's name. */
  readonly innerModels?: readonly InnerModelNote[];
  /** What chose the prices of its tokens, beside the price list. */
  readonly pricedBy?: PricedBy;
  /** The keys of prices that the price list lacks for what the call used. */
  readonly unpriced?: readonly string[];
  /** What was reserved, in nano-yuan, where the estimate of what was delivered costs more: the model states no limit of its output. */
  readonly reservedNano?: string;
}

/** With the price list and the usage it is all that the charge follows from. */
export interface PricedBy extends ServiceTerms, RunStep {
  /** Instead of one step: the tokens by the step of their run, if the sum of the runs would have chosen another step. */
  readonly steps?: readonly PricedStep[];
  /** Images by their price, if a table has several. */
  readonly images?: readonly PricedImages[];
}

/** Counts that are not zero, by unit. */
export type NonzeroCounts = { readonly [Name in UnitName]?: number };

interface PricedStep extends NonzeroCounts, RunStep {
  readonly runs: number;
}

export interface PricedImages {
  readonly count: number;
  readonly priceNano: string;
}

/** Unit prices by name, in nano-yuan as text; tables of prices nested, `null` if the model is not charged that way. */
export interface RecordedPrices {
  readonly [name: string]: string | null | RecordedPrices;
}

/** What a call used of an inner model, and its charge, which is rounded for itself. Amounts are text in nano-yuan. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  /** Cached tokens included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
  /** Absent in older records, as the members below. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}
