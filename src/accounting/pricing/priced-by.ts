import { isDeepStrictEqual } from 'node:util';
import { serviceTerms, termNames } from '../../protocols/metering/service-terms.ts';
import type { ChargeBasis, ImageCount, Usage } from '../../protocols/metering/usage-facts.ts';
import { pricedUnits, tokenUnits, type UnitCounts, unitNames } from '../../protocols/metering/usage-units.ts';
import type { UnitPrices } from './charge.ts';
import type { NonzeroCounts, PricedBy, PricedImages, RecordedPrices } from './charge-notes.ts';
import { type ImagePrices, imagePriceNano } from './image-prices.ts';
import type { StepShare } from './step-shares.ts';
import { isOneList, stepOf, termFactor, unpricedTerms } from './token-rates.ts';

/** Returns what determined the prices; `null` if only the price list did. */
export function pricedBy(
  usage: Usage,
  prices: UnitPrices,
  basis: ChargeBasis,
  shares: readonly StepShare[],
): PricedBy | null {
  // Fast path: nearly all lists have no steps, and nearly all calls the plain price.
  if (basis === 'tokens' && usage.servedOn === undefined && isOneList(prices)) return null;
  const by = basis === 'tokens' ? pricedTokens(usage, prices, shares) : pricedImages(usage.images, prices, basis);
  return Object.keys(by).length === 0 ? null : by;
}

function pricedTokens(usage: Usage, prices: UnitPrices, shares: readonly StepShare[]): PricedBy {
  const ofSum = stepOf(prices, usage);
  const isOfSum = shares.every(({ step }) => isDeepStrictEqual(step, ofSum));
  const { servedOn = {} } = usage;
  const terms = termNames.filter((name) => termFactor(prices, name, servedOn[name]) !== null);
  return {
    ...(isOfSum && ofSum),
    ...(!isOfSum && {
      steps: shares.map(({ step, runs, counts }) => ({
        ...step,
        runs,
        ...nonzero(counts, tokenUnits),
      })),
    }),
    ...Object.fromEntries(terms.map((name) => [name, servedOn[name]])),
  };
}

function pricedImages(images: readonly ImageCount[], { perImageNano }: UnitPrices, basis: ChargeBasis): PricedBy {
  if (basis !== 'images' || perImageNano === null || isOnePrice(perImageNano)) return {};
  const counts = new Map<bigint, number>();
  for (const { quality, size, sizeName, count } of images) {
    const priceNano = imagePriceNano(perImageNano, quality, size, sizeName);
    if (count > 0) counts.set(priceNano, (counts.get(priceNano) ?? 0) + count);
  }
  return {
    images: [...counts].map(([priceNano, count]): PricedImages => ({ count, priceNano: priceNano.toString() })),
  };
}

function isOnePrice(prices: ImagePrices): boolean {
  return Object.keys(prices).length === 1 && typeof prices.default === 'bigint';
}

export function nonzero(counts: UnitCounts, names = unitNames): NonzeroCounts {
  return Object.fromEntries(names.flatMap((name) => (counts[name] === 0 ? [] : [[name, counts[name]]])));
}

export function recordedPrices(prices: UnitPrices): RecordedPrices {
  const text = JSON.stringify(prices, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  return JSON.parse(text) as RecordedPrices;
}

/** Names the prices that are missing. Then audio is charged as text, a service tier at the plain price, and a tool use not at all. */
export function unpricedUses(usage: Usage, prices: UnitPrices, basis: ChargeBasis): readonly string[] {
  if (basis !== 'tokens') return NONE;
  const { servedOn, unexplained } = usage;
  const unpriced: string[] = [];
  for (const { name, field, price } of MARKED) {
    if (usage[name] > 0 && prices[field] === undefined) unpriced.push(price.key);
  }
  if (servedOn !== undefined) {
    for (const name of unpricedTerms(prices, servedOn)) {
      unpriced.push(`${serviceTerms[name].priceKey}.${servedOn[name]}`);
    }
  }
  if (unexplained !== undefined) unpriced.push(...unexplained);
  return unpriced;
}

const NONE: readonly string[] = [];
const MARKED = pricedUnits.filter(({ price }) => price.isMarked === true);
