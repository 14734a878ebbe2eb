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

/**
 * Chooses the prices of tokens from a price list: for each run of the model by the length of its input, by whether it reasoned and by the
 * length of its output; for the call by its terms.
 */

/** The prices of tokens of a run, and those that apply instead. */
export interface RunPrices extends TokenPriceFields {
  /** If the provider reports reasoning. */
  readonly thinking?: TokenPriceFields;
  /** If the output is longer than this, in tokens as text. */
  readonly outputAbove?: { readonly [outputTokens: string]: TokenPriceFields };
}

/** The prices of runs by the length of the input above which they apply, in tokens as text. */
interface PriceSteps {
  readonly [inputTokens: string]: RunPrices;
}

export interface SteppedPrices extends RunPrices {
  /** Absent: the same for every length of the input. */
  readonly above?: PriceSteps;
}

/** What chose the prices of a run. */
export interface RunStep {
  readonly above?: string;
  readonly thinking?: true;
  readonly outputAbove?: string;
}

/** Factors on the prices of tokens, by the name of the term, in nano: 1,000,000,000 is the plain price. */
interface PriceFactors {
  readonly [term: string]: bigint;
}

/** The factors of a price list; absent: it has none. */
export type TermFactors = { readonly [Key in TermPriceKey]?: PriceFactors };

export const FACTOR_ONE = 1_000_000_000n;

interface TokenRates {
  readonly list: TokenPriceFields;
  /** The product of all factors; `null`: one. */
  readonly factor: { readonly numerator: bigint; readonly denominator: bigint } | null;
}

/** The prices of tokens for a run like this, served on these terms. */
export function tokenRates(
  prices: SteppedPrices & TermFactors,
  run: UnitCounts,
  terms: ServiceTerms | undefined,
): TokenRates {
  return { list: listOfStep(prices, stepOf(prices, run)), factor: terms ? factorOf(prices, terms) : null };
}

/** Whether all tokens of all runs have the same prices. */
export function isOneList({ above, thinking, outputAbove }: SteppedPrices): boolean {
  return above === undefined && thinking === undefined && outputAbove === undefined;
}

/** The step of a run. A list has prices by reasoning or by the length of the output, not both. */
export function stepOf(prices: SteppedPrices, run: UnitCounts): RunStep {
  // Nearly all lists.
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

/** The greatest length that this one exceeds; `null`: none. */
function greatestBelow(lengths: Readonly<Record<string, unknown>> | undefined, length: number): string | null {
  let found: string | null = null;
  for (const each in lengths) {
    if (length > Number(each) && (found === null || Number(each) > Number(found))) found = each;
  }
  return found;
}

/** The product of the factors of these terms. */
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

/** The factor of a term; `null`: the list has none for it. */
export function termFactor(prices: TermFactors, name: TermName, term: string | undefined): bigint | null {
  if (term === undefined) return null;
  const factors = prices[serviceTerms[name].priceKey];
  return factors !== undefined && Object.hasOwn(factors, term) ? factors[term]! : null;
}

/** The terms that a list has no factor for, although they are not the plain ones. */
export function unpricedTerms(prices: TermFactors, terms: ServiceTerms): readonly TermName[] {
  if (!hasTerms(terms)) return [];
  return termNames.filter((name) => {
    const term = terms[name];
    return term !== undefined && !isPlainTerm(name, term) && termFactor(prices, name, term) === null;
  });
}

/**
 * The terms that count for a call: those that were reported, and of those that were asked for and not reported the cheaper
 * ones, since nobody is charged more than the vendor may bill.
 */
export function termsInForce(prices: TermFactors, asked: ServiceTerms, reported: ServiceTerms = {}): ServiceTerms {
  return !hasTerms(asked) ? reported : { ...cheaperTerms(prices, asked), ...reported };
}

/** Those of the terms that cost less than the plain price. */
export function cheaperTerms(prices: TermFactors, terms: ServiceTerms): ServiceTerms {
  if (!hasTerms(terms)) return terms;
  return Object.fromEntries(
    termNames.flatMap((name) =>
      (termFactor(prices, name, terms[name]) ?? FACTOR_ONE) < FACTOR_ONE ? [[name, terms[name]]] : [],
    ),
  );
}
