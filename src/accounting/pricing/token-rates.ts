import {
  hasTerms,
  isPlainTerm,
  type ServiceTerms,
  serviceTerms,
  type TermName,
  type TermPriceKey,
  termNames,
} from '../../protocols/metering/service-terms.ts';
import type { TokenPriceFields } from '../../protocols/metering/usage-units.ts';

/** What the prices of tokens of one call depend on beside the price list: the length of its input, and its terms. */

/** Prices of tokens by the input length above which they apply to the whole call, in tokens as text. */
export interface PriceSteps {
  readonly [inputTokens: string]: TokenPriceFields;
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

type RatedPrices = TokenPriceFields & TermFactors & { readonly above?: PriceSteps };

/** The prices of tokens for a call with an input of this length, served on these terms. */
export function tokenRates(prices: RatedPrices, inputLength: number, terms: ServiceTerms | undefined): TokenRates {
  const step = stepFor(prices.above, inputLength);
  return { list: step === null ? prices : prices.above![step]!, factor: terms ? factorOf(prices, terms) : null };
}

/** The step of an input of this length: the greatest that it exceeds; `null`: none. */
export function stepFor(above: PriceSteps | undefined, inputLength: number): string | null {
  if (above === undefined) return null;
  let found: string | null = null;
  for (const step of Object.keys(above)) {
    if (inputLength > Number(step) && (found === null || Number(step) > Number(found))) found = step;
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
