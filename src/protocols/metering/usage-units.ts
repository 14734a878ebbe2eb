/** A unit in which providers count usage. From the table of units follow bounds, price keys, call records, the admin API and the CLI. */
export interface UsageUnit {
  /** What the unit is a part of. The units of a side add up to its total; no token is in two of them. */
  readonly side: 'input' | 'output' | 'withinOutput' | 'other';
  readonly price: UnitPrice | null;
  /** The bound that the unit shares with others. Units with a lower `order` use it up first, so they are cut last. `null`: no bound. */
  readonly bound: UnitBound | null;
  /** Column of the unit in `calls`; `null`: a member of `other_units`, which is omitted if zero. */
  readonly column: string | null;
}

export interface UnitPrice {
  /** Key of the price in the configuration. Call records name it `<key>NanoPerMillion`, or `<key>Nano` for a price per use. */
  readonly key: string;
  readonly per: 'million' | 'one';
  readonly basis: 'tokens' | 'searchUnits';
  /** Key of the price that is used if this one is missing; `null`: the unit is then free of charge. */
  readonly standIn: 'input' | 'output' | 'imageOutput' | null;
  /** Whether uses without a price are recorded with the call, counted and logged. */
  readonly isMarked?: boolean;
}

export interface UnitBound {
  readonly name: 'inputTokens' | 'outputTokens' | 'searchUnits' | 'toolUses';
  readonly order: number;
}

/** Maximum number of tool uses that are charged for a call. Deep research takes some hundred searches. */
export const TOOL_USES_MAX = 1_000;

function toolUses<const Key extends string, const Order extends number>(key: Key, order: Order) {
  return {
    side: 'other',
    price: { key, per: 'one', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'toolUses', order },
    column: null,
  } as const;
}

export const usageUnits = {
  inputTokens: {
    side: 'input',
    price: { key: 'input', per: 'million', basis: 'tokens', standIn: null },
    bound: { name: 'inputTokens', order: 0 },
    column: 'input_tokens',
  },
  cachedInputTokens: {
    side: 'input',
    price: { key: 'cachedInput', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', order: 9 },
    column: 'cached_input_tokens',
  },
  /** Input tokens that were written to the cache for five minutes, or for a time that is not stated. */
  cacheWriteTokens: {
    side: 'input',
    price: { key: 'cacheWrite', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', order: 1 },
    column: 'cache_write_tokens',
  },
  cacheWrite1hTokens: {
    side: 'input',
    price: { key: 'cacheWrite1h', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', order: 2 },
    column: 'cache_write_1h_tokens',
  },
  imageInputTokens: {
    side: 'input',
    price: { key: 'imageInput', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', order: 3 },
    column: 'image_input_tokens',
  },
  audioInputTokens: {
    side: 'input',
    price: { key: 'audioInput', per: 'million', basis: 'tokens', standIn: 'input', isMarked: true },
    bound: { name: 'inputTokens', order: 4 },
    column: null,
  },
  /** Tokens of sources that research models cite, if they are not part of the input. */
  citationTokens: {
    side: 'input',
    price: { key: 'citations', per: 'million', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'inputTokens', order: 5 },
    column: null,
  },
  outputTokens: {
    side: 'output',
    price: { key: 'output', per: 'million', basis: 'tokens', standIn: 'imageOutput' },
    bound: { name: 'outputTokens', order: 0 },
    column: 'output_tokens',
  },
  /** Reasoning tokens within `outputTokens`. They have no price of their own, but can determine which prices apply. */
  reasoningTokens: { side: 'withinOutput', price: null, bound: null, column: 'reasoning_tokens' },
  imageOutputTokens: {
    side: 'output',
    price: { key: 'imageOutput', per: 'million', basis: 'tokens', standIn: 'output' },
    bound: { name: 'outputTokens', order: 1 },
    column: 'image_output_tokens',
  },
  audioOutputTokens: {
    side: 'output',
    price: { key: 'audioOutput', per: 'million', basis: 'tokens', standIn: 'output', isMarked: true },
    bound: { name: 'outputTokens', order: 2 },
    column: null,
  },
  /** Reasoning tokens that are not part of the output. The context limits them, so they share the bound of the input. */
  separateReasoningTokens: {
    side: 'output',
    price: { key: 'reasoning', per: 'million', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'inputTokens', order: 6 },
    column: null,
  },
  /** Search units: each is a query with up to 100 documents. */
  searchUnits: {
    side: 'other',
    price: { key: 'perSearchUnit', per: 'one', basis: 'searchUnits', standIn: null },
    bound: { name: 'searchUnits', order: 0 },
    column: 'search_units',
  },
  webSearches: toolUses('perWebSearch', 0),
  webFetches: toolUses('perWebFetch', 1),
  fileSearches: toolUses('perFileSearch', 2),
  codeExecutions: toolUses('perCodeExecution', 3),
  containers: toolUses('perContainer', 4),
  /** Uses of other provider tools, such as MCP servers and searches outside of the web. */
  otherToolUses: toolUses('perToolUse', 5),
  /** Rounds at the provider, each of which reads the context again. They have no price. */
  serverToolUses: { side: 'other', price: null, bound: null, column: null },
  /** How often the provider summarized the context. The tokens of the summaries are in other units. */
  compactions: { side: 'other', price: null, bound: null, column: null },
} as const satisfies Readonly<Record<string, UsageUnit>>;

type Units = typeof usageUnits;
export type UnitName = keyof Units;

type Priced<Per extends UnitPrice['per']> = {
  [Name in UnitName]: Units[Name]['price'] extends { readonly per: Per } ? Name : never;
}[UnitName];

type KeyOf<Name extends UnitName> = NonNullable<Units[Name]['price']>['key'];

type Marked = {
  [Name in UnitName]: Units[Name]['price'] extends { readonly isMarked: true } ? Name : never;
}[UnitName];

export type MillionPriceKey = KeyOf<Priced<'million'>>;
export type OnePriceKey = KeyOf<Priced<'one'>>;
type MarkedPriceKey = KeyOf<Marked>;

/** Token prices in nano-yuan. Those of units with `isMarked` are optional. */
export type TokenPriceFields = {
  readonly [Key in Exclude<MillionPriceKey, MarkedPriceKey> as `${Key}NanoPerMillion`]: bigint;
} & { readonly [Key in Extract<MillionPriceKey, MarkedPriceKey> as `${Key}NanoPerMillion`]?: bigint };

/** Prices of all units. A price per use that is missing is `null` or absent. */
export type UnitPriceFields = TokenPriceFields & {
  readonly [Key in Exclude<OnePriceKey, MarkedPriceKey> as `${Key}Nano`]: bigint | null;
} & { readonly [Key in Extract<OnePriceKey, MarkedPriceKey> as `${Key}Nano`]?: bigint };

export type ShownUnit = {
  [Name in UnitName]: null extends Units[Name]['column'] & Units[Name]['price'] ? never : Name;
}[UnitName];

export type UnitCounts = { readonly [Name in UnitName]: number };

export const unitNames = Object.keys(usageUnits) as readonly UnitName[];

export function unitsWhere(holds: (unit: UsageUnit, name: UnitName) => boolean): readonly UnitName[] {
  return unitNames.filter((name) => holds(usageUnits[name], name));
}

export interface PricedUnit {
  readonly name: UnitName;
  readonly price: UnitPrice & { readonly key: MillionPriceKey | OnePriceKey };
  readonly field: keyof UnitPriceFields;
  readonly standInField: keyof TokenPriceFields | null;
}

export const pricedUnits: readonly PricedUnit[] = unitNames.flatMap((name) => {
  const { price } = usageUnits[name];
  if (price === null) return [];
  const field = price.per === 'million' ? `${price.key}NanoPerMillion` : `${price.key}Nano`;
  const standIn = price.standIn === null ? null : `${price.standIn}NanoPerMillion`;
  return [
    {
      name,
      price,
      field: field as keyof UnitPriceFields,
      standInField: standIn as keyof TokenPriceFields | null,
    },
  ];
});

export const unitColumns = unitNames.flatMap((unit) => {
  const { column } = usageUnits[unit];
  return column === null ? [] : [{ unit, column }];
});
export const otherUnits = unitsWhere(({ column }) => column === null);

export const shownUnits = unitsWhere(({ column, price }) => column !== null || price !== null);

export const tokenUnits = unitsWhere(({ side }) => side !== 'other');

export function withTokens<Counts extends UnitCounts>(counts: Counts, make: (name: UnitName) => number): Counts {
  return { ...counts, ...Object.fromEntries(tokenUnits.map((name) => [name, make(name)])) };
}

export function byUnit<Value>(make: (name: UnitName) => Value): { [Name in UnitName]: Value } {
  return Object.fromEntries(unitNames.map((name) => [name, make(name)])) as { [Name in UnitName]: Value };
}
