/**
 * Image prices in nano-yuan: by quality, by size, or by both. `default` applies to every other quality or size. Names of the form
 * WIDTHxHEIGHT are sizes and all others are qualities, so a request for a size such as "low" gets no quality's price. Below a quality, a
 * size can have a vendor's spelling, such as 2K.
 */
export interface ImagePrices {
  readonly [qualityOrSize: string]: bigint | ImagePricesByOther;
}

interface ImagePricesByOther {
  readonly [sizeOrQuality: string]: bigint;
}

const DEFAULT = 'default';

/**
 * Returns the price of an image, by quality first, then by size. If the table does not list the size in pixels, the size name in the
 * request is used. Without a match or default, the highest price applies, so that an unexpected image is not free.
 */
export function imagePriceNano(
  prices: ImagePrices,
  quality: string | null,
  size: string | null,
  sizeName: string | null = null,
): bigint {
  const inTable = (table: ImagePricesByOther): bigint | undefined =>
    entryOfSize(table, size) ?? entryOfVendorSize(table, size) ?? entryOfVendorSize(table, sizeName);
  const ofQuality = entry(prices, isQuality(quality) ? quality : null);
  const ofSize = entryOfSize(prices, size);
  const found =
    priceIn(ofQuality, inTable) ??
    priceIn(ofSize, (table) => entry(table, isQuality(quality) ? quality : null)) ??
    priceIn(entry(prices, DEFAULT), inTable);
  return found ?? dearestImageNano(prices);
}

export function dearestImageNano(prices: ImagePrices): bigint {
  const all = Object.values(prices).flatMap((price) => (typeof price === 'bigint' ? [price] : Object.values(price)));
  return all.reduce((dearest, price) => (price > dearest ? price : dearest), 0n);
}

function priceIn(
  found: bigint | ImagePricesByOther | undefined,
  find: (table: ImagePricesByOther) => bigint | undefined,
): bigint | undefined {
  return typeof found === 'object' ? (find(found) ?? entry(found, DEFAULT)) : found;
}

function entry<Value>(table: Readonly<Record<string, Value>>, name: string | null): Value | undefined {
  return name !== null && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Finds the entry of a size, even if the table spells its pixels differently. */
function entryOfSize<Value>(table: Readonly<Record<string, Value>>, size: string | null): Value | undefined {
  const pixels = size === null ? null : pixelsOf(size);
  if (pixels === null) return undefined;
  const name = Object.keys(table).find((candidate) => pixelsOf(candidate) === pixels);
  return name === undefined ? undefined : table[name];
}

function entryOfVendorSize<Value>(table: Readonly<Record<string, Value>>, size: string | null): Value | undefined {
  return size === null || size === DEFAULT || QUALITIES.has(size) ? undefined : entry(table, size);
}

/** Pattern of a size in pixels: `1024x1024`, or `1024*1024` and `1024X1024` as some vendors write. */
const SIZE = /^\s*0*([1-9][0-9]{0,5})\s*[xX*×]\s*0*([1-9][0-9]{0,5})\s*$/;

/** Returns `1024x1024`; `null` if the text is not a size in pixels. */
function pixelsOf(text: string): string | null {
  const [, width, height] = SIZE.exec(text) ?? [];
  return width === undefined ? null : `${width}x${height}`;
}

function isQuality(name: string | null): boolean {
  return name !== null && name !== DEFAULT && pixelsOf(name) === null;
}

/** Words that mean a quality at every vendor, so a size with such a name is ignored. */
const QUALITIES: ReadonlySet<string> = new Set('low medium high xhigh max auto standard hd'.split(' '));
