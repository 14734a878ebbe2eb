import { type Decimal, isSame, isZero, quotient, readDecimal, times, toNano, withPercent } from '../../lib/decimal.ts';
import { isRecord } from '../../lib/json/json.ts';
import { formatYuan } from '../../lib/yuan.ts';

export type Entry = Readonly<Record<string, unknown>>;

/** A price list of the configuration: amounts in yuan as text, and tables of amounts. */
export interface PriceList {
  readonly [key: string]: string | PriceList;
}

export interface PricedEntry {
  /** What the operator pays: the prices without the margin. */
  readonly cost: PriceList;
  readonly price: PriceList;
  /** Names of prices that the list cannot express. */
  readonly unpriced: readonly string[];
  /** Prices that the entry has, but not the lists, because they equal the price of input in each of them. */
  readonly asInput: readonly string[];
}

/** Yuan per dollar: without the operator's margin, and with it. */
export interface Rates {
  readonly cost: Decimal;
  readonly price: Decimal;
}

/** @param marginPercent what is added to the prices */
export function ratesOf(usdCny: Decimal, marginPercent: Decimal): Rates {
  return { cost: usdCny, price: times(usdCny, withPercent(marginPercent)) };
}

const MILLION: Decimal = { digits: 1_000_000n, scale: 0 };
const ONE: Decimal = { digits: 1n, scale: 0 };

/** Token prices: LiteLLM's names, and the keys of the configuration. */
const TOKENS: ReadonlyMap<string, string> = new Map([
  ['input_cost_per_token', 'input'],
  ['cache_read_input_token_cost', 'cachedInput'],
  ['cache_creation_input_token_cost', 'cacheWrite'],
  ['cache_creation_input_token_cost_above_1hr', 'cacheWrite1h'],
  ['output_cost_per_token', 'output'],
  ['input_cost_per_image_token', 'imageInput'],
  ['output_cost_per_image_token', 'imageOutput'],
  ['input_cost_per_audio_token', 'audioInput'],
  ['output_cost_per_audio_token', 'audioOutput'],
]);

/**
 * Tokens that are charged as input if they have no price of their own. Audio is not included: a price for audio also means that the model
 * accepts audio.
 */
const COSTS_AS_INPUT = ['cachedInput', 'cacheWrite', 'cacheWrite1h', 'imageInput'] as const;

const TIERS = ['priority', 'flex'] as const;
/** Keys that are ignored: prices of batch calls, which are not served, and a second name for the price of cached input. */
const ELSEWHERE = /_batches$|_per_token_cache_hit$/;
/** Keys of prices whose names do not contain `cost`. */
const ALSO_PRICES = /_pricing$|^search_free_requests$|uplift_multiplier/;
/** Factors of a region or a speed for all token prices: LiteLLM's names, and the tables of the configuration. */
const FACTORS: ReadonlyMap<string, string> = new Map([
  ['us', 'inferenceGeos'],
  ['fast', 'speeds'],
]);
const REASONING = 'reasoning tokens have another price than output';
const OF_TIER = /_(?:priority|flex)$/;
const STEP = /^(.*)_above_(\d+)k_tokens(_priority|_flex)?$/;

/**
 * Converts an entry of LiteLLM's file from dollars per token to yuan per million tokens. A price of zero counts as missing: the file has it
 * for free and for unknown prices.
 *
 * @returns the prices, or the reason why a call could cost more than the listed prices
 */
export function readEntry(given: Entry, rates: Rates): PricedEntry | string {
  const entry = withStepsByName(given);
  if (entry === null) return 'its ranges of input length are not contiguous';
  const left = new Set(Object.keys(entry).filter((key) => isOfPrices(key) && !ELSEWHERE.test(key)));
  const take = (key: string): Decimal | null => {
    const read = readDecimal(entry[key]);
    left.delete(key);
    return read === null || isZero(read) ? null : read;
  };
  const unpriced = (): string[] => [...left].filter((key) => isPriced(entry[key]));

  const isOfImages = entry.mode === 'image_generation';
  const image = isOfImages ? take('output_cost_per_image') : null;
  if (image !== null) {
    // Images with a price are charged by that alone, not by tokens.
    for (const key of left) if (OF_TIER.test(key)) left.delete(key);
    const listIn = (rate: Decimal): PriceList => ({ perImage: { default: text(image, rate, ONE) } });
    return { cost: listIn(rates.cost), price: listIn(rates.price), unpriced: unpriced(), asInput: [] };
  }

  const tokens = new Map<string, Decimal>();
  for (const [key, name] of TOKENS) {
    const read = take(key);
    if (read !== null) tokens.set(name, read);
  }
  if (!tokens.has('output') && !(isOfImages && tokens.has('imageOutput')) && !isOfInputAlone(entry))
    return 'no price of output';
  if (!tokens.has('input')) return 'no price of input';

  /** Whether reasoning has a price of its own. Reasoning tokens are counted as output. */
  const hasOwnReasoning = (list: ReadonlyMap<string, Decimal>, suffix: string): boolean => {
    const [reasoning, output] = [take(`output_cost_per_reasoning_token${suffix}`), list.get('output')];
    return reasoning !== null && (output === undefined || !isSame(reasoning, output));
  };
  if (hasOwnReasoning(tokens, '')) return REASONING;

  const steps = new Map<string, Map<string, Decimal>>();
  for (const key of [...left]) {
    const [, base, thousands, tier] = STEP.exec(key) ?? [];
    const name = base === undefined ? undefined : TOKENS.get(base);
    if (name === undefined || tier !== undefined) continue;
    const step = steps.get(`${thousands}000`) ?? new Map<string, Decimal>();
    steps.set(`${thousands}000`, step);
    const read = take(key);
    if (read !== null) step.set(name, read);
  }
  const asInput: string[] = [];
  for (const name of COSTS_AS_INPUT) {
    const isAsInput = (list: ReadonlyMap<string, Decimal>): boolean => {
      const [own, input] = [list.get(name), list.get('input')];
      return own === undefined || (input !== undefined && isSame(own, input));
    };
    // A price that equals that of input everywhere is removed from all lists, so that a step without it is complete.
    if (![tokens, ...steps.values()].every(isAsInput)) continue;
    if (tokens.has(name)) asInput.push(name);
    for (const list of [tokens, ...steps.values()]) list.delete(name);
  }
  for (const [above, step] of steps) {
    const missing = [...tokens.keys()].filter((name) => !step.has(name));
    if (missing.length > 0) return `no price of ${missing.join(', ')} above ${above} tokens`;
    if (hasOwnReasoning(step, `_above_${Number(above) / 1000}k_tokens`)) return REASONING;
  }

  const tiers = new Map<string, Decimal>();
  for (const tier of TIERS) {
    const factor = factorOf(entry, tier, tokens, steps);
    if (factor === null) continue;
    tiers.set(tier, factor);
    for (const key of [...left]) if (key.endsWith(`_${tier}`)) left.delete(key);
  }

  const terms = factorsOf(entry);
  const search = searchPrice(entry);
  if (search !== null) left.delete('search_context_cost_per_query');

  const listIn = (rate: Decimal): PriceList => ({
    ...inYuan(tokens, rate),
    ...(search !== null && { perWebSearch: text(search, rate, ONE) }),
    ...(tiers.size > 0 && { serviceTiers: mapped(tiers, (factor) => formatYuan(toNano(factor))) }),
    ...terms,
    ...(steps.size > 0 && { above: mapped(steps, (step) => inYuan(step, rate)) }),
  });
  return { cost: listIn(rates.cost), price: listIn(rates.price), unpriced: unpriced(), asInput };
}

/** Converts a list of ranges of input length to the keys that other entries have; `null` if there is a gap between ranges. */
function withStepsByName({ tiered_pricing: ranges, ...entry }: Entry): Entry | null {
  if (!Array.isArray(ranges)) return entry;
  const named: Record<string, unknown> = { ...entry };
  let from = 0;
  for (const each of ranges) {
    if (!isRecord(each)) return null;
    const { range, ...prices } = each;
    const [start, end]: readonly unknown[] = Array.isArray(range) ? range : [];
    if (start !== from || typeof end !== 'number' || !(end > from) || from % 1000 !== 0) return null;
    for (const [key, price] of Object.entries(prices))
      named[from === 0 ? key : `${key}_above_${from / 1000}k_tokens`] = price;
    from = end;
  }
  return named;
}

const isOfInputAlone = ({ mode }: Entry): boolean => mode === 'embedding' || mode === 'rerank';

const isOfPrices = (key: string): boolean => key.includes('cost') || ALSO_PRICES.test(key);

const isPriced = (value: unknown): boolean => typeof value === 'object' || readDecimal(value)?.digits !== 0n;

const text = (perUnit: Decimal, rate: Decimal, units: Decimal): string =>
  formatYuan(toNano(times(times(perUnit, units), rate)));

const mapped = <Value>(map: ReadonlyMap<string, Value>, change: (value: Value) => string | PriceList): PriceList =>
  Object.fromEntries([...map].map(([name, value]) => [name, change(value)]));

const inYuan = (tokens: ReadonlyMap<string, Decimal>, rate: Decimal): PriceList =>
  mapped(tokens, (perToken) => text(perToken, rate, MILLION));

/** Returns the factor between the prices of a tier and the usual ones; `null` if it is not the same for all of them. */
function factorOf(
  entry: Entry,
  tier: string,
  tokens: ReadonlyMap<string, Decimal>,
  steps: ReadonlyMap<string, ReadonlyMap<string, Decimal>>,
): Decimal | null {
  const factors: (Decimal | null)[] = [];
  for (const [key, name] of TOKENS) {
    for (const [usual, suffix] of [
      [tokens.get(name), ''],
      ...[...steps].map(([above, step]) => [step.get(name), `_above_${Number(above) / 1000}k_tokens`] as const),
    ] as const) {
      if (usual === undefined) continue;
      const read = readDecimal(entry[`${key}${suffix}_${tier}`]);
      // Without a price in the tier, the factor is unknown, because a price must not be guessed.
      factors.push(read === null ? null : quotient(read, usual));
    }
  }
  return commonOf(factors);
}

/** Returns the factors of regions and speeds, which entries of Anthropic have. */
function factorsOf({ provider_specific_entry: given }: Entry): PriceList {
  if (typeof given !== 'object' || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const [table, factor] = [FACTORS.get(name), readDecimal(value)];
      return table === undefined || factor === null || isZero(factor)
        ? []
        : [[table, { [name]: formatYuan(toNano(factor)) }]];
    }),
  );
}

/** Returns the price of a search; `null` if it depends on the size of the search context. */
function searchPrice({ search_context_cost_per_query: sizes }: Entry): Decimal | null {
  if (typeof sizes !== 'object' || sizes === null) return null;
  return commonOf(Object.values(sizes).map(readDecimal));
}

/** Returns the value that all have; `null` if they differ, or are absent or zero. */
function commonOf([first, ...others]: readonly (Decimal | null)[]): Decimal | null {
  if (first === undefined || first === null || isZero(first)) return null;
  return others.every((other) => other !== null && isSame(other, first)) ? first : null;
}
