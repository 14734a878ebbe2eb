import { parseDecimal, readDecimal } from '../../lib/decimal.ts';
import { PriceFileError } from './errors.ts';
import { keyOf, type Lookup, type PriceSourceConfig } from './lookups.ts';
import { isPriceFile, modelsOfVendor } from './model-list.ts';
import { type PricedEntry, ratesOf } from './price-file.ts';
import { parsePriceJson } from './price-json.ts';

/** Prices of the source by `keyOf` their lookup, or the reason why a price cannot be used. A model that the source lacks is absent. */
export type SourcePrices = ReadonlyMap<string, Pick<PricedEntry, 'cost' | 'price' | 'asInput'> | string>;

/**
 * Reads the prices of models from the text of a price file.
 *
 * @throws PriceFileError if the text is not a price file
 */
export function readSourcePrices(
  text: string,
  lookups: readonly Lookup[],
  { usdCny, marginPercent }: Pick<PriceSourceConfig, 'usdCny' | 'marginPercent'>,
): SourcePrices {
  const file = parse(text);
  if (!isPriceFile(file)) throw new PriceFileError("The source is not a price file in LiteLLM's format.");
  // The schema has checked both.
  const rates = ratesOf(parseDecimal(usdCny)!, readDecimal(marginPercent)!);
  const prices = new Map<string, Pick<PricedEntry, 'cost' | 'price' | 'asInput'> | string>();
  for (const { vendor, names } of byVendor(lookups)) {
    const wanted = { vendor, isWanted: (name: string) => names.has(name), rates };
    const { models, notPriced } = modelsOfVendor(file, vendor.priceFileNames ?? [], wanted);
    for (const { id, cost, price, asInput } of models)
      prices.set(keyOf({ vendor, name: id }), { cost, price, asInput });
    for (const { id, why } of notPriced) prices.set(keyOf({ vendor, name: id }), why);
  }
  return prices;
}

function parse(text: string): unknown {
  try {
    return parsePriceJson(text);
  } catch {
    // The error quotes the text, which may be any file or page.
    throw new PriceFileError('The source is not JSON.');
  }
}

/** The file is searched once for each vendor. */
function byVendor(lookups: readonly Lookup[]): Iterable<{ vendor: Lookup['vendor']; names: Set<string> }> {
  const vendors = new Map<string, { vendor: Lookup['vendor']; names: Set<string> }>();
  for (const { vendor, name } of lookups) {
    const key = JSON.stringify(vendor.priceFileNames);
    const known = vendors.get(key);
    if (known === undefined) vendors.set(key, { vendor, names: new Set([name]) });
    else known.names.add(name);
  }
  return vendors.values();
}
