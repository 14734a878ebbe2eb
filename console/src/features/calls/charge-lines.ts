import type { Call, OwnCall, PricedBy } from '../../api/types.ts';
import { times } from '../../text/yuan.ts';

/** A line of a bill: a count and its price. */
export interface ChargeLine {
  /** The model, if the call also used models other than the requested one. */
  readonly model: string | null;
  /** A unit of the usage, `images` or `calls`. */
  readonly unit: string;
  readonly count: number;
  readonly priceYuan: string;
  readonly per: 'million' | 'one';
  /** What selected the token prices in addition to the price list, if anything. */
  readonly step: PriceStep | null;
  /** Count times price, exact, before factors and rounding. */
  readonly amountYuan: string;
}

/** Prices that apply to longer input, to reasoning, or to longer output. */
export interface PriceStep {
  readonly above?: string | undefined;
  readonly thinking?: true | undefined;
  readonly outputAbove?: string | undefined;
}

type Charged = Pick<OwnCall, 'usage' | 'pricedBy' | 'price'>;
type Counts = { readonly [unit: string]: number | string | undefined };

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

/** Explains the charge of a call from its record alone (`docs/charges.md`, "The charge on the record"). */
export function chargeLines(call: OwnCall | Call): ChargeLine[] {
  if (call.usage === null) return [];
  const own: Record<string, number> = countsOf(call.usage);
  for (const inner of call.innerModels) {
    for (const [unit, count] of Object.entries(countsOf(inner.usage ?? {}))) {
      if (unit in own) own[unit] = own[unit]! - count;
    }
  }
  const model = call.innerModels.length === 0 ? null : call.model;
  return [
    ...ofOperation(call.operation, { ...call, usage: own }, model),
    ...call.innerModels.flatMap((inner) => byTokens(inner as unknown as OwnCharged, inner.model)),
  ];
}

interface OwnCharged extends Omit<Charged, 'usage'> {
  readonly usage: Counts | null;
}

function countsOf(usage: object): Record<string, number> {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => typeof count === 'number'));
}

function ofOperation(operation: string, charged: OwnCharged, model: string | null): ChargeLine[] {
  const { usage, price, pricedBy } = charged;
  const { perCallYuan, perSearchUnitYuan, perImageYuan } = price as Record<string, unknown>;
  if (operation === 'rerank' && typeof perCallYuan === 'string') return [lineOf(model, 'calls', 1, perCallYuan, 'one')];
  if (operation === 'rerank' && typeof perSearchUnitYuan === 'string') {
    return [lineOf(model, 'searchUnits', Number(usage?.searchUnits), perSearchUnitYuan, 'one')];
  }
  if (operation.startsWith('images.') && typeof perImageYuan === 'object' && perImageYuan !== null) {
    const usual = { count: Number(usage?.images), priceYuan: (perImageYuan as Record<string, string>).default ?? '0' };
    return (pricedBy?.images ?? [usual]).map(({ count, priceYuan }) =>
      lineOf(model, 'images', count, priceYuan, 'one'),
    );
  }
  return byTokens(charged, model);
}

function byTokens({ usage, price, pricedBy }: OwnCharged, model: string | null): ChargeLine[] {
  if (usage === null) return [];
  const list = price as PriceList;
  const groups = pricedBy?.steps ?? [{ ...usage, ...stepOf(pricedBy ?? {}) }];
  const tokens = groups.flatMap((group) => {
    const step = stepOf(group);
    const prices = pricesOf(list, step);
    return TOKENS.flatMap(([unit, name, standIn]) => {
      const count = Number((group as Counts)[unit] ?? 0);
      const each = prices[`${name}YuanPerMillion`] ?? prices[`${standIn}YuanPerMillion`] ?? '0';
      return count === 0
        ? []
        : [{ ...lineOf(model, unit, count, String(each), 'million'), step: isPlain(step) ? null : step }];
    });
  });
  const uses = USES.flatMap(([unit, name]) => {
    const count = Number(usage[unit] ?? 0);
    return count === 0 ? [] : [lineOf(model, unit, count, String(list[name] ?? '0'), 'one')];
  });
  return [...tokens, ...uses];
}

const stepOf = ({ above, thinking, outputAbove }: PriceStep): PriceStep => ({ above, thinking, outputAbove });
const isPlain = (step: PriceStep): boolean => Object.values(step).every((value) => value === undefined);

interface PriceList {
  readonly [name: string]: unknown;
}

function pricesOf(list: PriceList, { above, thinking, outputAbove }: PriceStep): PriceList {
  let prices = list;
  if (above !== undefined) prices = (prices.above as Record<string, PriceList>)[above]!;
  if (thinking) prices = prices.thinking as PriceList;
  if (outputAbove !== undefined) prices = (prices.outputAbove as Record<string, PriceList>)[outputAbove]!;
  return prices;
}

function lineOf(
  model: string | null,
  unit: string,
  count: number,
  priceYuan: string,
  per: ChargeLine['per'],
): ChargeLine {
  return {
    model,
    unit,
    count,
    priceYuan,
    per,
    step: null,
    amountYuan: times(priceYuan, count, per === 'million' ? 6 : 0),
  };
}

/** The terms that multiplied the token prices, such as `priority` by 2. */
export function factorsOf(price: object, pricedBy: PricedBy | null): { term: string; factor: string }[] {
  const list = price as Record<string, Record<string, string>>;
  const terms = [
    ['serviceTiers', pricedBy?.serviceTier],
    ['speeds', pricedBy?.speed],
    ['inferenceGeos', pricedBy?.inferenceGeo],
  ] as const;
  return terms.flatMap(([name, term]) => {
    const factor = term === undefined ? undefined : list[name]?.[term];
    return term === undefined || factor === undefined ? [] : [{ term, factor }];
  });
}
