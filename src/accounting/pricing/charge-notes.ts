import type { ServiceTerms } from '../../protocols/metering/service-terms.ts';
import type { DoubtedSide } from '../../protocols/metering/usage-facts.ts';
import type { UnitName } from '../../protocols/metering/usage-units.ts';
import type { UsageExcess } from './bounds.ts';
import type { PriceRule } from './price.ts';
import type { RunStep } from './token-rates.ts';

export interface ChargeNotes {
  /** Usage beyond what the call can have used; it is not charged. */
  readonly excess?: UsageExcess;
  /** The counts that were estimated, because the reported ones cannot be true. */
  readonly doubted?: readonly DoubtedSide[];
  readonly innerModels?: readonly InnerModelNote[];
  /** What determined the prices, apart from the price list. */
  readonly pricedBy?: PricedBy;
  /** Names of prices that the usage needs but the price list lacks. */
  readonly unpriced?: readonly string[];
  /** The reserved amount in nano-yuan. Present if the estimated output costs more, which can happen if the model has no output limit. */
  readonly reservedNano?: string;
}

export interface PricedBy extends ServiceTerms, RunStep {
  /** The tokens of each price step. Replaces the single step if the runs were charged at several steps. */
  readonly steps?: readonly PricedStep[];
  /** Images by price. Present if the price table has several prices. */
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

/** Prices in nano-yuan by name. A price table is a nested object of the same type. `null`: the model is not charged this way. */
export interface RecordedPrices {
  readonly [name: string]: string | null | RecordedPrices;
}

/** Charge and usage of an inner model, rounded separately. Amounts are nano-yuan as text. */
export interface InnerModelNote {
  readonly name: string;
  readonly model: string;
  /** Input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargeNano: string;
  /** Older records lack this member and the following ones. */
  readonly used?: NonzeroCounts;
  readonly pricedBy?: PricedBy;
  readonly price?: { readonly rule: PriceRule; readonly prices: RecordedPrices };
}
