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
 * The unit prices of a model in nano-yuan; those of tokens per million. A price that the configuration leaves out has the
 * value of its stand-in, but for prices of marked units, which are absent. The others are `null` if the model is not
 * charged that way.
 */
export interface UnitPrices extends UnitPriceFields, TermFactors, Omit<SteppedPrices, keyof UnitPriceFields> {
  readonly perImageNano: ImagePrices | null;
  readonly perCallNano: bigint | null;
}

/**
 * The charge in nano-yuan: the sum of count x price, times the price factor of the account, rounded half up once. `shares` are
 * the tokens of the usage by the step of their prices; by default all of them are those of one run.
 */
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

/** A charge before it is rounded. */
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

/** The units that are charged on each basis. */
const ofBasis = (basis: ChargeBasis, per: UnitPrice['per']) =>
  pricedUnits.filter(({ price }) => price.basis === basis && price.per === per);
const TOKENS = ofBasis('tokens', 'million');
const TOOL_USES = ofBasis('tokens', 'one');
const SEARCH_UNITS = ofBasis('searchUnits', 'one');

/** Tokens at the prices and factors of the call; uses of tools cost the same on all terms. */
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

/** In millionths of a nano-yuan. A unit without a price is free. */
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

/** The most that this many images can cost, for a reservation: quality and size are not known before the response. */
export function imagesCostAtMost(count: number, prices: UnitPrices): bigint {
  return prices.perImageNano === null ? 0n : BigInt(count) * dearestImageNano(prices.perImageNano);
}

/** The basis on which an operation is charged at these prices: the last of its options that has a price, else the first. */
export function chargeBasis(
  { charge }: { readonly charge: readonly [ChargeOption, ...ChargeOption[]] },
  prices: UnitPrices,
): ChargeBasis {
  return (charge.findLast((option) => isPriced(option.basis, prices)) ?? charge[0]).basis;
}

/** Whether these prices have one for the basis. */
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
