/** Recomputes the charge of a call from its record in the admin API alone, without code of the gateway, as a tenant's auditor would. */

type Counts = Readonly<Record<string, number>>;
type Prices = { readonly [name: string]: string | Prices };

/** The price list that applies to the tokens of a run. */
interface Step {
  readonly above?: string;
  readonly thinking?: true;
  readonly outputAbove?: string;
}

interface PricedBy extends Step {
  readonly steps?: readonly (Step & { readonly runs: number } & Counts)[];
  readonly images?: readonly { readonly count: number; readonly priceYuan: string }[];
  readonly serviceTier?: string;
  readonly speed?: string;
  readonly inferenceGeo?: string;
}

interface Charged {
  readonly usage: Counts;
  readonly pricedBy: PricedBy | null;
  readonly price: Prices;
}

export interface ChargedRecord extends Charged {
  readonly priceFactorBasisPoints: number;
  readonly operation: string;
  readonly innerModels: readonly Charged[];
}

/** In nano-yuan. */
export function recomputedCharge({ operation, usage, innerModels, ...own }: ChargedRecord): bigint {
  const factor = BigInt(own.priceFactorBasisPoints);
  const rest = { ...usage } as Record<string, number>;
  for (const inner of innerModels) {
    for (const [unit, count] of Object.entries(inner.usage)) if (unit in rest) rest[unit]! -= count;
  }
  const charges = [ofOperation(operation, { ...own, usage: rest }), ...innerModels.map(byTokens)];
  return charges.reduce((sum, exact) => sum + rounded(exact, factor), 0n);
}

/** A charge at list price before rounding, as a fraction. */
interface Exact {
  readonly amount: bigint;
  readonly scale: bigint;
}

const BASIS_POINTS = 10_000n;

/** Rounded once for each model, half up, after the account's price factor. */
function rounded({ amount, scale }: Exact, factor: bigint): bigint {
  const divisor = scale * BASIS_POINTS;
  return (2n * amount * factor + divisor) / (2n * divisor);
}

function ofOperation(operation: string, charged: Charged): Exact {
  const { usage, price, pricedBy } = charged;
  if (operation === 'rerank' && typeof price.perCallYuan === 'string') {
    return { amount: nano(price.perCallYuan), scale: 1n };
  }
  if (operation === 'rerank' && typeof price.perSearchUnitYuan === 'string') {
    return { amount: BigInt(usage.searchUnits!) * nano(price.perSearchUnitYuan), scale: 1n };
  }
  if (operation.startsWith('images.') && typeof price.perImageYuan === 'object') {
    const images = pricedBy?.images ?? [{ count: usage.images!, priceYuan: price.perImageYuan.default as string }];
    const amount = images.reduce((sum, { count, priceYuan }) => sum + BigInt(count) * nano(priceYuan), 0n);
    return { amount, scale: 1n };
  }
  return byTokens(charged);
}

const TOKENS: readonly (readonly [unit: string, price: string, standIn: string])[] = [
  ['inputTokens', 'input', 'input'],
  ['cachedInputTokens', 'cachedInput', 'input'],
  ['cacheWriteTokens', 'cacheWrite', 'input'],
  ['cacheWrite1hTokens', 'cacheWrite1h', 'input'],
  ['imageInputTokens', 'imageInput', 'input'],
  ['audioInputTokens', 'audioInput', 'input'],
  ['citationTokens', 'citations', 'citations'],
  ['outputTokens', 'output', 'output'],
  ['imageOutputTokens', 'imageOutput', 'output'],
  ['audioOutputTokens', 'audioOutput', 'output'],
  ['separateReasoningTokens', 'reasoning', 'reasoning'],
];

const USES: readonly (readonly [unit: string, price: string])[] = [
  ['webSearches', 'perWebSearchYuan'],
  ['webFetches', 'perWebFetchYuan'],
  ['fileSearches', 'perFileSearchYuan'],
  ['codeExecutions', 'perCodeExecutionYuan'],
  ['containers', 'perContainerYuan'],
  ['otherToolUses', 'perToolUseYuan'],
];

const MILLION = 1_000_000n;
const BILLION = 1_000_000_000n;

/** In millionths of a nano-yuan, times a billion for each factor, until rounding. */
function byTokens({ usage, pricedBy, price }: Charged): Exact {
  const { above, thinking, outputAbove, steps, serviceTier, speed, inferenceGeo } = pricedBy ?? {};
  const groups = (steps as readonly Counts[] | undefined) ?? [
    { ...usage, above, thinking, outputAbove } as unknown as Counts,
  ];
  let sum = 0n;
  for (const group of groups) {
    const step: Step = group;
    let list = step.above === undefined ? price : ((price.above as Prices)[step.above] as Prices);
    if (step.thinking) list = list.thinking as Prices;
    if (step.outputAbove !== undefined) list = (list.outputAbove as Prices)[step.outputAbove] as Prices;
    for (const [unit, name, standIn] of TOKENS) {
      const each = list[`${name}YuanPerMillion`] ?? list[`${standIn}YuanPerMillion`] ?? '0';
      sum += BigInt(group[unit] ?? 0) * nano(each as string);
    }
  }
  let scale = MILLION;
  for (const [factors, term] of [
    ['serviceTiers', serviceTier],
    ['speeds', speed],
    ['inferenceGeos', inferenceGeo],
  ] as const) {
    if (term === undefined) continue;
    sum *= nano((price[factors] as Prices)[term] as string);
    scale *= BILLION;
  }
  for (const [unit, name] of USES) {
    sum += BigInt(usage[unit] ?? 0) * nano((price[name] as string | undefined) ?? '0') * scale;
  }
  return { amount: sum, scale };
}

/** A decimal amount in yuan as nano-yuan. */
function nano(yuan: string): bigint {
  const [whole, decimals = ''] = yuan.split('.');
  return BigInt(whole!) * BILLION + BigInt(decimals.padEnd(9, '0'));
}
