/** The prices of tokens, in the order of the forms. */
export const TOKEN_PRICE_KEYS = [
  'input',
  'cachedInput',
  'output',
  'cacheWrite',
  'cacheWrite1h',
  'reasoning',
  'imageInput',
  'imageOutput',
  'audioInput',
  'audioOutput',
  'citations',
] as const;

/** The prices with one amount. */
export const PRICE_KEYS = [
  ...TOKEN_PRICE_KEYS,
  'perImage',
  'perCall',
  'perSearchUnit',
  'perWebSearch',
  'perWebFetch',
  'perFileSearch',
  'perCodeExecution',
  'perContainer',
  'perToolUse',
] as const;

/** The members with several prices or factors. */
export type PriceTable =
  | 'above'
  | 'outputAbove'
  | 'thinking'
  | 'timeOfDay'
  | 'perImage'
  | 'serviceTiers'
  | 'speeds'
  | 'inferenceGeos'
  | 'official';

/** The tables of a price at a time of day. */
export const DAY_TABLES: readonly PriceTable[] = [
  'above',
  'outputAbove',
  'thinking',
  'perImage',
  'serviceTiers',
  'speeds',
  'inferenceGeos',
];

/** The tables of the price of a group. */
export const GROUP_TABLES: readonly PriceTable[] = [...DAY_TABLES, 'timeOfDay'];

/** The tables of the price of a model. */
export const MODEL_TABLES: readonly PriceTable[] = [...GROUP_TABLES, 'official'];

/** The tables of prices above an input length. */
export const STEP_TABLES: readonly PriceTable[] = ['outputAbove', 'thinking'];
