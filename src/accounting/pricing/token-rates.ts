import {
  hasTerms,
  isPlainTerm,
  type ServiceTerms,
  serviceTerms,
  type TermName,
  type TermPriceKey,
  termNames,
} from '../../protocols/metering/service-terms.ts';
import { inputTokensOf, outputTokensOf } from '../../protocols/metering/usage-facts.ts';
import type { TokenPriceFields, UnitCounts } from '../../protocols/metering/usage-units.ts';

/** This file selects the prices of a model run: by length of its input and output, and by whether the model reasoned. */

export interface RunPrices extends TokenPriceFields {
  /** Prices that apply if the provider reports reasoning. */
  readonly thinking?: TokenPriceFields;
  /** Prices by minimum output length: they apply if the output has more tokens than the member's name states. */
  readonly outputAbove?: { readonly [outputTokens: string]: TokenPriceFields };
}

/** Prices by minimum input length: they apply if the input has more tokens than the member's name states. */
interface PriceSteps {
  readonly [inputTokens: string]: RunPrices;
}

export interface SteppedPrices extends RunPrices {
  /** Prices for longer input; absent: the prices do not depend on its length. */
  readonly above?: PriceSteps;
}

export interface RunStep {
  readonly above?: string;
  readonly thinking?: true;
  readonly outputAbove?: string;
}

/** Price factors by service term, in billionths: 1,000,000,000 is the plain price. */
interface PriceFactors {
  readonly [term: string]: bigint;
}

export type TermFactors = { readonly [Key in TermPriceKey]?: PriceFactors };

export const FACTOR_ONE = 1_000_000_000n;

interface TokenRates {
  readonly list: TokenPriceFields;
  /** Product of the factors of all service terms; `null`: 1. */
  readonly factor: { readonly numerator: bigint; readonly denominator: bigint } | null;
}

export function tokenRates(
  prices: SteppedPrices & TermFactors,
  run: UnitCounts,
  terms: ServiceTerms | undefined,
): TokenRates {
  return { list: listOfStep(prices, stepOf(prices, run)), factor: terms ? factorOf(prices, terms) : null };
}

export function isOneList({ above, thinking, outputAbove }: SteppedPrices): boolean {
  return above === undefined && thinking === undefined && outputAbove === undefined;
}

/** Returns the price step of a run. A list has prices for reasoning or for long output, not for both. */
export function stepOf(prices: SteppedPrices, run: UnitCounts): RunStep {
  // Fast path: nearly all lists have no steps.
  if (isOneList(prices)) return PLAIN;
  const above = greatestBelow(prices.above, inputTokensOf(run));
  const { thinking, outputAbove } = above === null ? prices : prices.above![above]!;
  const longer = greatestBelow(outputAbove, outputTokensOf(run));
  return {
    ...(above !== null && { above }),
    ...(thinking !== undefined && run.reasoningTokens > 0
      ? { thinking: true }
      : longer !== null && { outputAbove: longer }),
  };
}

const PLAIN: RunStep = {};

export function listOfStep(prices: SteppedPrices, { above, thinking, outputAbove }: RunStep): TokenPriceFields {
  const list = above === undefined ? prices : prices.above![above]!;
  if (thinking) return list.thinking!;
  return outputAbove === undefined ? list : list.outputAbove![outputAbove]!;
}

/** Returns the greatest name in `lengths` below `length`, or `null`. */
function greatestBelow(lengths: Readonly<Record<string, unknown>> | undefined, length: number): string | null {
  let found: string | null = null;
  for (const each in lengths) {
    if (length > Number(each) && (found === null || Number(each) > Number(found))) found = each;
  }
  return found;
}

export function factorOf(prices: TermFactors, terms: ServiceTerms): TokenRates['factor'] {
  let numerator = 1n;
  let denominator = 1n;
  for (const name of termNames) {
    const factor = termFactor(prices, name, terms[name]);
    if (factor === null) continue;
    numerator *= factor;
    denominator *= FACTOR_ONE;
  }
  return denominator === 1n ? null : { numerator, denominator };
}

/** Returns the price factor of a service term; `null` if the list has none. */
export function termFactor(prices: TermFactors, name: TermName, term: string | undefined): bigint | null {
  if (term === undefined) return null;
  const factors = prices[serviceTerms[name].priceKey];
  return factors !== undefined && Object.hasOwn(factors, term) ? factors[term]! : null;
}

/** Returns the service terms that have no factor in the list, except plain terms. */
export function unpricedTerms(prices: TermFactors, terms: ServiceTerms): readonly TermName[] {
  if (!hasTerms(terms)) return [];
  return termNames.filter((name) => {
    const term = terms[name];
    return term !== undefined && !isPlainTerm(name, term) && termFactor(prices, name, term) === null;
  });
}

/** Service terms that determine the price: the reported ones, and requested ones that were not reported if they are cheaper. */
export function termsInForce(prices: TermFactors, asked: ServiceTerms, reported: ServiceTerms = {}): ServiceTerms {
  return !hasTerms(asked) ? reported : { ...cheaperTerms(prices, asked), ...reported };
}

export function cheaperTerms(prices: TermFactors, terms: ServiceTerms): ServiceTerms {
  if (!hasTerms(terms)) return terms;
  return Object.fromEntries(
    termNames.flatMap((name) =>
      (termFactor(prices, name, terms[name]) ?? FACTOR_ONE) < FACTOR_ONE ? [[name, terms[name]]] : [],
    ),
  );
}
