import { PriceFileError } from './errors.ts';
import type { Lookup, PriceSourceConfig } from './lookups.ts';
import { readSourcePrices, type SourcePrices } from './source-prices.ts';

/** Reads price files in a thread of its own, because large JSON would delay calls. */

export interface PriceTask {
  readonly text: string;
  readonly lookups: readonly Lookup[];
  readonly terms: Pick<PriceSourceConfig, 'usdCny' | 'marginPercent'>;
}

/** Errors lose their class between threads. */
export type PriceTaskResult = { readonly prices: SourcePrices } | { readonly refusal: string };

export function run({ text, lookups, terms }: PriceTask): PriceTaskResult {
  try {
    return { prices: readSourcePrices(text, lookups, terms) };
  } catch (error) {
    if (!(error instanceof PriceFileError)) throw error;
    return { refusal: error.message };
  }
}
