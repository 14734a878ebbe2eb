import type { ChargeBasis, ImageCount, Usage } from '../metering/usage-facts.ts';
import { dearestImageNano, type ImagePrices, imagePriceNano } from './image-prices.ts';

/**
 * The unit prices of a model in nano-yuan; those of tokens per million. Every token price is set: what a configuration
 * leaves out costs as the one that stands for it. The others are `null` where the model is not charged that way.
 */
export interface UnitPrices {
  readonly inputNanoPerMillion: bigint;
  readonly cachedInputNanoPerMillion: bigint;
  readonly cacheWriteNanoPerMillion: bigint;
  readonly cacheWrite1hNanoPerMillion: bigint;
  readonly imageInputNanoPerMillion: bigint;
  readonly outputNanoPerMillion: bigint;
  readonly imageOutputNanoPerMillion: bigint;
  readonly perImageNano: ImagePrices | null;
  readonly perSearchUnitNano: bigint | null;
  readonly perCallNano: bigint | null;
}

/** The charge in nano-yuan: the sum of count x price, rounded half up once (design 6). */
export function chargeFor(usage: Usage, prices: UnitPrices, basis: ChargeBasis): bigint {
  switch (basis) {
    case 'tokens':
      return chargeTokens(usage, prices);
    case 'images':
      return chargeImages(usage.images, prices.perImageNano!);
    case 'searchUnits':
      return BigInt(usage.searchUnits) * prices.perSearchUnitNano!;
    case 'calls':
      return prices.perCallNano!;
  }
}

const TOKENS_PER_PRICE = 1_000_000n;

function chargeTokens(usage: Usage, prices: UnitPrices): bigint {
  const sum =
    BigInt(usage.inputTokens) * prices.inputNanoPerMillion +
    BigInt(usage.cachedInputTokens) * prices.cachedInputNanoPerMillion +
    BigInt(usage.cacheWriteTokens) * prices.cacheWriteNanoPerMillion +
    BigInt(usage.cacheWrite1hTokens) * prices.cacheWrite1hNanoPerMillion +
    BigInt(usage.imageInputTokens) * prices.imageInputNanoPerMillion +
    BigInt(usage.outputTokens) * prices.outputNanoPerMillion +
    BigInt(usage.imageOutputTokens) * prices.imageOutputNanoPerMillion;
  return (sum + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
}

function chargeImages(images: readonly ImageCount[], prices: ImagePrices): bigint {
  return images.reduce(
    (sum, { quality, size, count }) => sum + BigInt(count) * imagePriceNano(prices, quality, size),
    0n,
  );
}

/** The most that this many images can cost, for a hold: neither quality nor size is known before the answer. */
export function imagesCostAtMost(count: number, prices: UnitPrices): bigint {
  return prices.perImageNano === null ? 0n : BigInt(count) * dearestImageNano(prices.perImageNano);
}
