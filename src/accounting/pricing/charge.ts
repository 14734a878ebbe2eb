import type { ChargeBasis, ImageCount, Usage } from '../../protocols/metering/usage-facts.ts';
import { type PricedUnit, pricedUnits, type UnitPriceFields } from '../../protocols/metering/usage-units.ts';
import { dearestImageNano, type ImagePrices, imagePriceNano } from './image-prices.ts';

/**
 * The unit prices of a model in nano-yuan; those of tokens per million. Every token price is set: one that the configuration
 * leaves out has the value of its fallback. The others are `null` where the model is not charged that way.
 */
export interface UnitPrices extends UnitPriceFields {
  readonly perImageNano: ImagePrices | null;
  readonly perCallNano: bigint | null;
}

/** The charge in nano-yuan: the sum of count x price, rounded half up once. */
export function chargeFor(usage: Usage, prices: UnitPrices, basis: ChargeBasis): bigint {
  switch (basis) {
    case 'tokens':
    case 'searchUnits':
      return chargeUnits(usage, prices, UNITS[basis]);
    case 'images':
      return chargeImages(usage.images, prices.perImageNano!);
    case 'calls':
      return prices.perCallNano!;
  }
}

const MILLION = 1_000_000n;

/** The units that are charged on each basis. */
const UNITS = {
  tokens: pricedUnits.filter(({ price }) => price.basis === 'tokens'),
  searchUnits: pricedUnits.filter(({ price }) => price.basis === 'searchUnits'),
};

/** A unit without a price is free. */
function chargeUnits(usage: Usage, prices: UnitPrices, units: readonly PricedUnit[]): bigint {
  let millionths = 0n;
  for (const { name, field, price } of units) {
    const count = usage[name];
    if (count === 0) continue;
    const charge = BigInt(count) * (prices[field] ?? 0n);
    millionths += price.per === 'million' ? charge : charge * MILLION;
  }
  return (millionths + MILLION / 2n) / MILLION;
}

function chargeImages(images: readonly ImageCount[], prices: ImagePrices): bigint {
  return images.reduce(
    (sum, { quality, size, count }) => sum + BigInt(count) * imagePriceNano(prices, quality, size),
    0n,
  );
}

/** The most that this many images can cost, for a reservation: quality and size are not known before the response. */
export function imagesCostAtMost(count: number, prices: UnitPrices): bigint {
  return prices.perImageNano === null ? 0n : BigInt(count) * dearestImageNano(prices.perImageNano);
}
