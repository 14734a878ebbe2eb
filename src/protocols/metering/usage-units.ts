/**
 * The units in which providers count what a call used, one entry each. Addition, bounds, charges, the keys of prices, the
 * record of a call, the admin API and the CLI follow from this table; if a provider reports a unit is in `protocols/`.
 */
export interface UsageUnit {
  /**
   * What it counts: tokens that the model read or wrote, a part of its `outputTokens`, or something else. The tokens of all
   * units of a side are disjoint, and their sum is the total.
   */
  readonly side: 'input' | 'output' | 'withinOutput' | 'other';
  /** Its price; `null`: it is never charged. */
  readonly price: UnitPrice | null;
  /**
   * The bound that it shares with other units, and its place in the order: what is counted first is cut last. `null`:
   * none of its own.
   */
  readonly bound: UnitBound | null;
  /** Its column in `calls`; `null`: a member of `other_units`, absent if it is zero. */
  readonly column: string | null;
}

export interface UnitPrice {
  /** Its key in the configuration; the record says `<key>NanoPerMillion`, or `<key>Nano` of a price for each. */
  readonly key: string;
  readonly per: 'million' | 'one';
  /** What a call has to be charged by for this price to count. */
  readonly basis: 'tokens' | 'searchUnits';
  /** The key whose price stands for one that is left out; `null`: the unit is then free. */
  readonly standIn: 'input' | 'output' | 'imageOutput' | null;
  /**
   * Whether a use for which a price list has no price of its own is noted on the call's record, counted and logged. Absent:
   * no.
   */
  readonly isMarked?: boolean;
}

export interface UnitBound {
  readonly name: 'inputTokens' | 'outputTokens' | 'searchUnits' | 'toolUses';
  readonly turn: number;
}

/** The most uses of tools that are charged. Research in depth takes some hundred searches. */
export const TOOL_USES_MAX = 1_000;

/** A tool that the provider runs, which is charged for each use beside the tokens. */
function toolUses<const Key extends string, const Turn extends number>(key: Key, turn: Turn) {
  return {
    side: 'other',
    price: { key, per: 'one', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'toolUses', turn },
    column: null,
  } as const;
}

/** In the order in which prices, records and the admin API list them. */
export const usageUnits = {
  /** Input tokens at the full price. */
  inputTokens: {
    side: 'input',
    price: { key: 'input', per: 'million', basis: 'tokens', standIn: null },
    bound: { name: 'inputTokens', turn: 0 },
    column: 'input_tokens',
  },
  /** Input tokens read from the provider's cache. */
  cachedInputTokens: {
    side: 'input',
    price: { key: 'cachedInput', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', turn: 9 },
    column: 'cached_input_tokens',
  },
  /** Input tokens written to the provider's cache for five minutes, or for a time that the provider did not state. */
  cacheWriteTokens: {
    side: 'input',
    price: { key: 'cacheWrite', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', turn: 1 },
    column: 'cache_write_tokens',
  },
  /** Input tokens written to the provider's cache for one hour. */
  cacheWrite1hTokens: {
    side: 'input',
    price: { key: 'cacheWrite1h', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', turn: 2 },
    column: 'cache_write_1h_tokens',
  },
  /** Input tokens of images, if the provider counts them apart from those of text. */
  imageInputTokens: {
    side: 'input',
    price: { key: 'imageInput', per: 'million', basis: 'tokens', standIn: 'input' },
    bound: { name: 'inputTokens', turn: 3 },
    column: 'image_input_tokens',
  },
  /** Input tokens of audio. */
  audioInputTokens: {
    side: 'input',
    price: { key: 'audioInput', per: 'million', basis: 'tokens', standIn: 'input', isMarked: true },
    bound: { name: 'inputTokens', turn: 4 },
    column: null,
  },
  /** Tokens of what a research cites, if the provider counts them outside of its input. */
  citationTokens: {
    side: 'input',
    price: { key: 'citations', per: 'million', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'inputTokens', turn: 5 },
    column: null,
  },
  /** Output tokens, reasoning included. */
  outputTokens: {
    side: 'output',
    price: { key: 'output', per: 'million', basis: 'tokens', standIn: 'imageOutput' },
    bound: { name: 'outputTokens', turn: 0 },
    column: 'output_tokens',
  },
  /** The part of `outputTokens` that was reasoning: never charged on top, but it may choose the prices of its run. */
  reasoningTokens: { side: 'withinOutput', price: null, bound: null, column: 'reasoning_tokens' },
  /** Output tokens of images. */
  imageOutputTokens: {
    side: 'output',
    price: { key: 'imageOutput', per: 'million', basis: 'tokens', standIn: 'output' },
    bound: { name: 'outputTokens', turn: 1 },
    column: 'image_output_tokens',
  },
  /** Output tokens of audio. */
  audioOutputTokens: {
    side: 'output',
    price: { key: 'audioOutput', per: 'million', basis: 'tokens', standIn: 'output', isMarked: true },
    bound: { name: 'outputTokens', turn: 2 },
    column: null,
  },
  /**
   * Reasoning that the provider counts outside of its output. Each round of a research writes some, far more than the longest output but
   * no more than a context, so it shares the bound of the input.
   */
  separateReasoningTokens: {
    side: 'output',
    price: { key: 'reasoning', per: 'million', basis: 'tokens', standIn: null, isMarked: true },
    bound: { name: 'inputTokens', turn: 6 },
    column: null,
  },
  /** Units in which some providers count rerank calls: a query against up to a hundred documents. */
  searchUnits: {
    side: 'other',
    price: { key: 'perSearchUnit', per: 'one', basis: 'searchUnits', standIn: null },
    bound: { name: 'searchUnits', turn: 0 },
    column: 'search_units',
  },
  /** Searches of the web that the provider ran and bills. */
  webSearches: toolUses('perWebSearch', 0),
  /** Pages that the provider fetched. */
  webFetches: toolUses('perWebFetch', 1),
  /** Searches of stored files. */
  fileSearches: toolUses('perFileSearch', 2),
  /** Runs of code. */
  codeExecutions: toolUses('perCodeExecution', 3),
  /** Containers for code that were made for this call. */
  containers: toolUses('perContainer', 4),
  /** Uses of all other tools of the provider: of MCP servers, of searches elsewhere than in the web. */
  otherToolUses: toolUses('perToolUse', 5),
  /**
   * The rounds of a loop at the provider, by whatever shows them: uses of tools of any kind, or listed turns. With each of
   * them the model read its context again. Never charged by itself.
   */
  serverToolUses: { side: 'other', price: null, bound: null, column: null },
  /** How often the provider had the context summarized; the tokens for that are among the other counts. */
  compactions: { side: 'other', price: null, bound: null, column: null },
} as const satisfies Readonly<Record<string, UsageUnit>>;

type Units = typeof usageUnits;
export type UnitName = keyof Units;

/** Units with a price, by what it is for. */
type Priced<Per extends UnitPrice['per']> = {
  [Name in UnitName]: Units[Name]['price'] extends { readonly per: Per } ? Name : never;
}[UnitName];

type KeyOf<Name extends UnitName> = NonNullable<Units[Name]['price']>['key'];

/** Of those, the units whose uses are marked if they have no price. */
type Marked = {
  [Name in UnitName]: Units[Name]['price'] extends { readonly isMarked: true } ? Name : never;
}[UnitName];

/** Keys of prices for a million, and for each one. */
export type MillionPriceKey = KeyOf<Priced<'million'>>;
export type OnePriceKey = KeyOf<Priced<'one'>>;
type MarkedPriceKey = KeyOf<Marked>;

/** The prices of tokens as a call carries them, in nano-yuan. Those of marked units are absent if a list has none. */
export type TokenPriceFields = {
  readonly [Key in Exclude<MillionPriceKey, MarkedPriceKey> as `${Key}NanoPerMillion`]: bigint;
} & { readonly [Key in Extract<MillionPriceKey, MarkedPriceKey> as `${Key}NanoPerMillion`]?: bigint };

/** The prices of all units. Those for each one are `null`, or absent, if a list has none. */
export type UnitPriceFields = TokenPriceFields & {
  readonly [Key in Exclude<OnePriceKey, MarkedPriceKey> as `${Key}Nano`]: bigint | null;
} & { readonly [Key in Extract<OnePriceKey, MarkedPriceKey> as `${Key}Nano`]?: bigint };

/** See `shownUnits`. */
export type ShownUnit = {
  [Name in UnitName]: null extends Units[Name]['column'] & Units[Name]['price'] ? never : Name;
}[UnitName];

/** A count of each unit. */
export type UnitCounts = { readonly [Name in UnitName]: number };

export const unitNames = Object.keys(usageUnits) as readonly UnitName[];

/** The units for which a predicate is true, in the order of the table. */
export function unitsWhere(holds: (unit: UsageUnit, name: UnitName) => boolean): readonly UnitName[] {
  return unitNames.filter((name) => holds(usageUnits[name], name));
}

/** A unit that has a price, and the field of `UnitPriceFields` for that price. */
export interface PricedUnit {
  readonly name: UnitName;
  readonly price: UnitPrice & { readonly key: MillionPriceKey | OnePriceKey };
  readonly field: keyof UnitPriceFields;
  /** The field of the price that stands for one that is absent. */
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

/** The units that have a column in `calls`, and those that share `other_units`. */
export const unitColumns = unitNames.flatMap((unit) => {
  const { column } = usageUnits[unit];
  return column === null ? [] : [{ unit, column }];
});
export const otherUnits = unitsWhere(({ column }) => column === null);

/** The units that the admin API shows: those with a column, and of the others those that may be charged. */
export const shownUnits = unitsWhere(({ column, price }) => column !== null || price !== null);

/** The units that are tokens. */
export const tokenUnits = unitsWhere(({ side }) => side !== 'other');

/** A usage with other counts of tokens. */
export function withTokens<Counts extends UnitCounts>(counts: Counts, make: (name: UnitName) => number): Counts {
  return { ...counts, ...Object.fromEntries(tokenUnits.map((name) => [name, make(name)])) };
}

/** A value for each count, by its name. */
export function byUnit<Value>(make: (name: UnitName) => Value): { [Name in UnitName]: Value } {
  return Object.fromEntries(unitNames.map((name) => [name, make(name)])) as { [Name in UnitName]: Value };
}
