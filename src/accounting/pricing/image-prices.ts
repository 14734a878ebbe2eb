/**
 * Prices of an image in nano-yuan: by quality, by size, or by one of them and then by the other; `default` stands for what
 * is not named. One price for all images is a table of `default` alone.
 *
 * Names of the form WIDTHxHEIGHT are sizes, all others but `default` are qualities: a size that the caller makes up, such
 * as "low", chooses no price. Below a quality, a size may have a vendor's own spelling, such as 2K.
 */
export interface ImagePrices {
  readonly [qualityOrSize: string]: bigint | ImagePricesByOther;
}

interface ImagePricesByOther {
  readonly [sizeOrQuality: string]: bigint;
}

const DEFAULT = 'default';

/**
 * The price of an image of this quality and size, either of which may be unknown; if the table names both, the quality
 * goes first. A size in pixels that no table names has the price of the name by which it was asked for. A table that neither names them nor has a default charges its highest price, so that an unexpected image is
 * not free.
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

/** The highest price in the table. */
export function dearestImageNano(prices: ImagePrices): bigint {
  const all = Object.values(prices).flatMap((price) => (typeof price === 'bigint' ? [price] : Object.values(price)));
  return all.reduce((dearest, price) => (price > dearest ? price : dearest), 0n);
}

/** A single price as it is, or the price from a table, or the default of the table. */
function priceIn(
  found: bigint | ImagePricesByOther | undefined,
  find: (table: ImagePricesByOther) => bigint | undefined,
): bigint | undefined {
  return typeof found === 'object' ? (find(found) ?? entry(found, DEFAULT)) : found;
}

function entry<Value>(table: Readonly<Record<string, Value>>, name: string | null): Value | undefined {
  return name !== null && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** What a table has for a size of the form WIDTHxHEIGHT, however either of them spells it. */
function entryOfSize<Value>(table: Readonly<Record<string, Value>>, size: string | null): Value | undefined {
  const pixels = size === null ? null : pixelsOf(size);
  if (pixels === null) return undefined;
  const name = Object.keys(table).find((candidate) => pixelsOf(candidate) === pixels);
  return name === undefined ? undefined : table[name];
}

function entryOfVendorSize<Value>(table: Readonly<Record<string, Value>>, size: string | null): Value | undefined {
  return size === null || size === DEFAULT || QUALITIES.has(size) ? undefined : entry(table, size);
}

/** Vendors also write `1024*1024` or `1024X1024`. */
const SIZE = /^\s*0*([1-9][0-9]{0,5})\s*[xX*×]\s*0*([1-9][0-9]{0,5})\s*$/;

/** `1024x1024`, `null` if the text is no size in pixels. */
function pixelsOf(text: string): string | null {
  const [, width, height] = SIZE.exec(text) ?? [];
  return width === undefined ? null : `${width}x${height}`;
}

function isQuality(name: string | null): boolean {
  return name !== null && name !== DEFAULT && pixelsOf(name) === null;
}

/** Words that are a quality at every vendor, and so never a size. */
const QUALITIES: ReadonlySet<string> = new Set('low medium high xhigh max auto standard hd'.split(' '));
