/**
 * Prices of an image in nano-yuan: by quality, by size, or by quality and then by size; `default` stands for what is not
 * named. One price for all images is a table of `default` alone.
 */
export interface ImagePrices {
  readonly [qualityOrSize: string]: bigint | ImagePricesBySize;
}

export interface ImagePricesBySize {
  readonly [size: string]: bigint;
}

const DEFAULT = 'default';

/**
 * The price of an image of this quality and size, either of which may be unknown. A table that neither names them nor has
 * a default charges its dearest price: an image that nobody foresaw is not free.
 */
export function imagePriceNano(prices: ImagePrices, quality: string | null, size: string | null): bigint {
  const ofQuality = entry(prices, quality);
  if (typeof ofQuality === 'bigint') return ofQuality;
  if (ofQuality !== undefined) {
    const price = entry(ofQuality, size) ?? entry(ofQuality, DEFAULT);
    if (price !== undefined) return price;
  }
  const other = entry(prices, size) ?? entry(prices, DEFAULT);
  if (typeof other === 'bigint') return other;
  return (other && (entry(other, size) ?? entry(other, DEFAULT))) ?? dearestImageNano(prices);
}

/** The highest price in the table. */
export function dearestImageNano(prices: ImagePrices): bigint {
  const all = Object.values(prices).flatMap((price) => (typeof price === 'bigint' ? [price] : Object.values(price)));
  return all.reduce((dearest, price) => (price > dearest ? price : dearest), 0n);
}

function entry<Value>(table: Readonly<Record<string, Value>>, name: string | null): Value | undefined {
  return name !== null && Object.hasOwn(table, name) ? table[name] : undefined;
}
