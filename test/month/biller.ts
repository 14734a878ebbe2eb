/**
 * Bills a month from the vendor's records, one line of JSON per call, without importing the gateway: an independent implementation of the
 * price list, in integers, rounded half up once per call.
 *
 *   node test/month/biller.ts < lines.jsonl      prints the sum of each model in nano-yuan
 */

/** Prices in nano-yuan, per token or per item. */
interface Sheet {
  readonly [item: string]: number;
}

interface ModelSheet {
  readonly prices: Sheet;
  /** Prices of runs with a longer input, with a longer output, and with thinking. */
  readonly above?: { readonly length: number; readonly prices: Sheet };
  readonly longOutput?: { readonly length: number; readonly prices: Sheet };
  readonly thinking?: Sheet;
  /** In hundredths. */
  readonly multipliers?: Sheet;
}

const TOOLS: Sheet = {
  web_search: 70_000_000,
  web_fetch: 1_000_000,
  file_search: 17_000_000,
  code_run: 3_000_000,
  container: 210_000_000,
  other_tool: 5_000_000,
};

const SHEETS: { readonly [model: string]: ModelSheet } = {
  talker: {
    prices: {
      text_in: 3_000,
      cached_in: 700,
      written_in: 5_000,
      audio_in: 31_000,
      text_out: 13_000,
      audio_out: 89_000,
      ...TOOLS,
    },
    above: {
      length: 5_000,
      prices: {
        text_in: 7_000,
        cached_in: 1_100,
        written_in: 9_000,
        audio_in: 61_000,
        text_out: 29_000,
        audio_out: 179_000,
      },
    },
    longOutput: {
      length: 900,
      prices: {
        text_in: 3_500,
        cached_in: 700,
        written_in: 5_000,
        audio_in: 31_000,
        text_out: 17_000,
        audio_out: 97_000,
      },
    },
    multipliers: { 'tier flex': 50, 'tier priority': 175 },
  },
  thinker: {
    prices: { text_in: 2_000, cached_in: 300, written_in: 2_300, written_long_in: 4_100, text_out: 11_000, ...TOOLS },
    thinking: { text_in: 2_000, cached_in: 300, written_in: 2_300, written_long_in: 4_100, text_out: 43_000 },
    multipliers: { 'tier flex': 50, 'tier priority': 200 },
  },
  writer: {
    prices: { text_in: 5_000, cached_in: 500, written_in: 6_250, written_long_in: 10_000, text_out: 25_000, ...TOOLS },
    above: {
      length: 6_000,
      prices: { text_in: 10_000, cached_in: 1_000, written_in: 12_500, written_long_in: 20_000, text_out: 37_500 },
    },
    multipliers: { 'speed fast': 600, 'geo us': 110 },
  },
  embedder: { prices: { text_in: 130 } },
  ranker: { prices: { text_in: 170 } },
  'ranker-by-unit': { prices: { search_unit: 19_000_000 } },
  'ranker-by-call': { prices: { call: 17_000_000 } },
  painter: { prices: { text_in: 5_000, image_in: 8_000, image_out: 32_000 } },
  'painter-by-image': { prices: { 'image low': 80_000_000, 'image high': 1_200_000_000 } },
};

/** Priced by the lists above. */
interface UnpricedCall {
  readonly model: string;
  readonly items: Record<string, number>;
  readonly moreRuns: readonly Record<string, number>[];
  readonly multipliers: readonly string[];
}

/** Priced by the line itself: quantities and unit prices. */
interface PricedCall {
  readonly model: string;
  readonly lines: readonly (readonly [quantity: number, priceNano: number])[];
}

/** The sum of each model, in nano-yuan. */
export function bill(lines: Iterable<string>): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const line of lines) {
    const call = JSON.parse(line) as UnpricedCall | PricedCall;
    const nano =
      'lines' in call
        ? call.lines.reduce((sum, [quantity, price]) => sum + BigInt(quantity) * BigInt(price), 0n)
        : billCall(SHEETS[call.model]!, [call.items, ...call.moreRuns], call.multipliers);
    sums.set(call.model, (sums.get(call.model) ?? 0n) + nano);
  }
  return sums;
}

/** Every run has the prices for its own length. The call is rounded once. */
function billCall(sheet: ModelSheet, runs: readonly Record<string, number>[], multipliers: readonly string[]): bigint {
  let tokens = 0n;
  let others = 0n;
  for (const items of runs) {
    const { thought = 0, ...billed } = items;
    const tokenPrices = tokenPricesOf(sheet, billed, thought);
    for (const [item, quantity] of Object.entries(billed)) {
      const isToken = item.endsWith('_in') || item.endsWith('_out');
      const price = isToken ? tokenPrices[item] : sheet.prices[item];
      if (price === undefined) throw new Error(`${item} is not on the sheet`);
      if (isToken) tokens += BigInt(quantity) * BigInt(price);
      else others += BigInt(quantity) * BigInt(price);
    }
  }
  let hundredths = 1n;
  for (const name of multipliers) {
    tokens *= BigInt(sheet.multipliers![name]!);
    hundredths *= 100n;
  }
  return (tokens + others * hundredths + hundredths / 2n) / hundredths;
}

function tokenPricesOf(sheet: ModelSheet, items: Readonly<Record<string, number>>, thought: number): Sheet {
  let read = 0;
  let written = 0;
  for (const [item, quantity] of Object.entries(items)) {
    if (item.endsWith('_in')) read += quantity;
    else if (item.endsWith('_out')) written += quantity;
  }
  if (sheet.above !== undefined && read > sheet.above.length) return sheet.above.prices;
  if (sheet.thinking !== undefined && thought > 0) return sheet.thinking;
  if (sheet.longOutput !== undefined && written > sheet.longOutput.length) return sheet.longOutput.prices;
  return sheet.prices;
}

if (import.meta.main) {
  const text = await new Response(process.stdin as unknown as ReadableStream).text();
  for (const [model, nano] of bill(text.split('\n').filter((line) => line !== ''))) console.log(`${model} ${nano}`);
}
