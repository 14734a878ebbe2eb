/** Price factors are fractions of the list price in basis points. They apply to charges and reservations on the balance only. */

export const LIST_PRICE_BASIS_POINTS = 10_000;

/** Ten times the list price, in basis points. */
export const PRICE_FACTOR_BASIS_POINTS_MAX = 100_000;

/** Returns the account's own price factor; if that is the list price, the factor of its group. */
export function factorInForce(ownBasisPoints: number, groupBasisPoints: number): number {
  return ownBasisPoints === LIST_PRICE_BASIS_POINTS ? groupBasisPoints : ownBasisPoints;
}

/** Applies a price factor to an amount, rounded half up. */
export function atPriceFactor(amountNano: bigint, priceFactorBasisPoints: number): bigint {
  return roundedAtFactor(amountNano, 1n, priceFactorBasisPoints);
}

/** `dividend / divisor` times a price factor, rounded half up once. Neither may be negative. */
export function roundedAtFactor(dividend: bigint, divisor: bigint, priceFactorBasisPoints: number): bigint {
  if (priceFactorBasisPoints === LIST_PRICE_BASIS_POINTS) return roundedQuotient(dividend, divisor);
  return roundedQuotient(dividend * BigInt(priceFactorBasisPoints), divisor * BigInt(LIST_PRICE_BASIS_POINTS));
}

function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor);
}
