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

/** Prices of a run by output length and by whether the model reasoned. */

export interface RunPrices extends TokenPriceFields {
  /** Prices that apply if the provider reports reasoning. */
  readonly thinking?: TokenPriceFields;
  /** If the output exceeds the number of tokens that is the name of the member. */
  readonly outputAbove?: { readonly [outputTokens: string]: TokenPriceFields };
}

/** If the input exceeds the number of tokens that is the name of the member. */
interface PriceSteps {
  readonly [inputTokens: string]: RunPrices;
}

export interface SteppedPrices extends RunPrices {
  /** Absent: the prices are the same for every length of the input. */
  readonly above?: PriceSteps;
}

export interface RunStep {
  readonly above?: string;
  readonly thinking?: true;
  readonly outputAbove?: string;
}

/** By the name of the term, in billionths: 1,000,000,000 is the plain price. */
interface PriceFactors {
  readonly [term: string]: bigint;
}

export type TermFactors = { readonly [Key in TermPriceKey]?: PriceFactors };

export const FACTOR_ONE = 1_000_000_000n;

interface TokenRates {
  readonly list: TokenPriceFields;
  /** Product of all factors; `null`: 1. */
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

/** A list has prices by reasoning or by the length of the output, not both. */
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

/** Returns `null` if the list has no factor for the term. */
export function termFactor(prices: TermFactors, name: TermName, term: string | undefined): bigint | null {
  if (term === undefined) return null;
  const factors = prices[serviceTerms[name].priceKey];
  return factors !== undefined && Object.hasOwn(factors, term) ? factors[term]! : null;
}

/** Returns the terms for which the list has no factor, except plain terms. */
export function unpricedTerms(prices: TermFactors, terms: ServiceTerms): readonly TermName[] {
  if (!hasTerms(terms)) return [];
  return termNames.filter((name) => {
    const term = terms[name];
    return term !== undefined && !isPlainTerm(name, term) && termFactor(prices, name, term) === null;
  });
}

/** The reported terms, and requested terms that were not reported but are cheaper. So nobody is charged more than the vendor may bill. */
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
