import type { ChargeOption } from '../../protocols/metering/charge-options.ts';
import type { ChargeBasis, ImageCount, Usage } from '../../protocols/metering/usage-facts.ts';
import {
  type PricedUnit,
  pricedUnits,
  type UnitCounts,
  type UnitPrice,
  type UnitPriceFields,
} from '../../protocols/metering/usage-units.ts';
import { dearestImageNano, type ImagePrices, imagePriceNano } from './image-prices.ts';
import { LIST_PRICE_BASIS_POINTS, roundedAtFactor } from './price-factor.ts';
import { type StepShare, stepShares } from './step-shares.ts';
import { factorOf, listOfStep, type SteppedPrices, type TermFactors } from './token-rates.ts';

/**
 * Prices in nano-yuan; token prices are per million. A missing price is replaced by the price of the unit in `standIn`, except for units
 * with `isMarked`. `null`: the model is not charged this way.
 */
export interface UnitPrices extends UnitPriceFields, TermFactors, Omit<SteppedPrices, keyof UnitPriceFields> {
  readonly perImageNano: ImagePrices | null;
  readonly perCallNano: bigint | null;
}

/** Returns the charge in nano-yuan: the sum of count × price, times the account's price factor, rounded half up once. */
export function chargeFor(
  usage: Usage,
  prices: UnitPrices,
  basis: ChargeBasis,
  shares: readonly StepShare[] = stepShares([usage], prices),
  priceFactorBasisPoints: number = LIST_PRICE_BASIS_POINTS,
): bigint {
  const { dividend, divisor } = listCharge(usage, prices, basis, shares);
  return roundedAtFactor(dividend, divisor, priceFactorBasisPoints);
}

interface ExactCharge {
  readonly dividend: bigint;
  readonly divisor: bigint;
}

function listCharge(usage: Usage, prices: UnitPrices, basis: ChargeBasis, shares: readonly StepShare[]): ExactCharge {
  switch (basis) {
    case 'tokens':
      return chargeTokens(usage, prices, shares);
    case 'searchUnits':
      return { dividend: sumOf(usage, prices, SEARCH_UNITS), divisor: MILLION };
    case 'images':
      return { dividend: chargeImages(usage.images, prices.perImageNano!), divisor: 1n };
    case 'calls':
      return { dividend: prices.perCallNano!, divisor: 1n };
  }
}

const MILLION = 1_000_000n;

const ofBasis = (basis: ChargeBasis, per: UnitPrice['per']) =>
  pricedUnits.filter(({ price }) => price.basis === basis && price.per === per);
const TOKENS = ofBasis('tokens', 'million');
const TOOL_USES = ofBasis('tokens', 'one');
const SEARCH_UNITS = ofBasis('searchUnits', 'one');

/** Factors of service terms apply to tokens, but not to tool uses. */
function chargeTokens(usage: Usage, prices: UnitPrices, shares: readonly StepShare[]): ExactCharge {
  let tokens = 0n;
  for (const { step, counts } of shares) tokens += sumOf(counts, listOfStep(prices, step), TOKENS);
  const factor = usage.servedOn === undefined ? null : factorOf(prices, usage.servedOn);
  const uses = sumOf(usage, prices, TOOL_USES);
  return factor === null
    ? { dividend: tokens + uses, divisor: MILLION }
    : {
        dividend: tokens * factor.numerator + uses * factor.denominator,
        divisor: MILLION * factor.denominator,
      };
}

/** Returns the sum of count × price in millionths of a nano-yuan. A unit without a price is free. */
function sumOf(usage: UnitCounts, prices: Partial<UnitPriceFields>, units: readonly PricedUnit[]): bigint {
  let millionths = 0n;
  for (const { name, field, standInField, price } of units) {
    const count = usage[name];
    if (count === 0) continue;
    const priceNano = prices[field] ?? (standInField === null ? 0n : (prices[standInField] ?? 0n));
    const charge = BigInt(count) * priceNano;
    millionths += price.per === 'million' ? charge : charge * MILLION;
  }
  return millionths;
}

function chargeImages(images: readonly ImageCount[], prices: ImagePrices): bigint {
  return images.reduce(
    (sum, { quality, size, sizeName, count }) => sum + BigInt(count) * imagePriceNano(prices, quality, size, sizeName),
    0n,
  );
}

/** The maximum cost of images, for a reservation: quality and size are unknown before the response. */
export function imagesCostAtMost(count: number, prices: UnitPrices): bigint {
  return prices.perImageNano === null ? 0n : BigInt(count) * dearestImageNano(prices.perImageNano);
}

/** Chooses how a call is charged: by the last option that has a price, or else by the first. */
export function chargeBasis(
  { charge }: { readonly charge: readonly [ChargeOption, ...ChargeOption[]] },
  prices: UnitPrices,
): ChargeBasis {
  return (charge.findLast((option) => isPriced(option.basis, prices)) ?? charge[0]).basis;
}

function isPriced(basis: ChargeBasis, { perImageNano, perSearchUnitNano, perCallNano }: UnitPrices): boolean {
  switch (basis) {
    case 'tokens':
      return true;
    case 'images':
      return perImageNano !== null;
    case 'searchUnits':
      return perSearchUnitNano !== null;
    case 'calls':
      return perCallNano !== null;
  }
}
