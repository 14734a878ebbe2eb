/**
 * Budgets are tokens for structure or media, added to the visible text. Those of images and files are high on purpose, because nothing is
 * fetched or decoded (contract 4.4). The factor of the model's family does not apply to them; the margin of 10 % does.
 */
interface Budget {
  readonly tokens: number;
  readonly when: string;
  readonly why: string;
}

export const BUDGETS = {
  responsesBase: {
    tokens: 6,
    when: 'once for a responses body',
    why: 'measured, including the tokens that prime the reply: 6 for gpt-4o, 5 for gpt-5',
  },
  responsesItem: {
    tokens: 4,
    when: 'for every input item, for an input that is a string, and for the instructions',
    why: 'measured for each message: 4 for gpt-5, 3 for gpt-4o',
  },
  messagesBase: { tokens: 6, when: 'once for a messages body', why: 'measured for Claude' },
  messagesMessage: { tokens: 2, when: 'for every message', why: 'measured for Claude' },
  reasoning: {
    tokens: 64,
    when: 'once if `reasoning` (responses) or `thinking` (messages, unless disabled) is not empty',
    why: 'vendors do not document a number',
  },
  responsesTools: {
    tokens: 32,
    when: 'once if a responses body has tools',
    why: 'higher than 24, the number measured for gpt-5',
  },
  responsesTool: {
    tokens: 12,
    when: 'for every tool of a responses body, in addition to its text',
    why: 'higher than 6, the number measured for gpt-5, and than 9, that of older counting rules',
  },
  messagesTools: {
    tokens: 810,
    when: 'once if a messages body has tools',
    why: 'higher than 804, the tokens of the longest system prompt that a vendor adds for tools (Claude Opus 4.7, tool choice any or tool)',
  },
  messagesTool: {
    tokens: 60,
    when: 'for every tool of a messages body, in addition to its text',
    why: 'higher than 53, the measured number',
  },
  imageLow: {
    tokens: 512,
    when: 'for every image of a responses body with `detail: low`',
    why: 'higher than 256 patches x 1.2 = 307, and than 85 for models that use tiles',
  },
  image: {
    tokens: 3_072,
    when: 'for every image of a responses body with `detail: high`, `detail: auto` or no `detail`',
    why: 'higher than 2,500 patches x 1.2 = 3,000',
  },
  imageOriginal: {
    tokens: 12_288,
    when: 'for every image of a responses body with `detail: original`',
    why: 'higher than 10,000 patches x 1.2 = 12,000',
  },
  imageMessages: {
    tokens: 4_864,
    when: 'for every image block of a messages body',
    why: 'higher than 4,784, the maximum of Claude 4.7 and later',
  },
  fileUnknown: {
    tokens: 48_000,
    when: 'for every file or document that is given by URL or id, or has an unknown size',
    why: 'the file is not fetched: about a dozen pages are assumed',
  },
  audioChunk: { tokens: 1_000, when: 'for each started 64 KiB of the decoded size of audio', why: 'inference' },
} as const satisfies Record<string, Budget>;

interface FileTier {
  readonly sizeBytesMax: number;
  readonly tokens: number;
  readonly why: string;
}

/** Budgets of files by size. A PDF page has 1,500 to 3,000 tokens of text, and one image. */
export const FILE_TIERS: readonly FileTier[] = [
  { sizeBytesMax: 64 * 2 ** 10, tokens: 8_000, why: '2 pages, each with 3,000 tokens of text and 1,000 of an image' },
  { sizeBytesMax: 2 ** 20, tokens: 48_000, why: '10 to 12 pages' },
  { sizeBytesMax: 8 * 2 ** 20, tokens: 160_000, why: '40 pages' },
  { sizeBytesMax: Number.POSITIVE_INFINITY, tokens: 400_000, why: '100 pages' },
];

export function fileBudget(sizeBytes: number): number {
  return FILE_TIERS.find(({ sizeBytesMax }) => sizeBytes <= sizeBytesMax)!.tokens;
}

const AUDIO_CHUNK_BYTES = 64 * 2 ** 10;

export function audioBudget(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / AUDIO_CHUNK_BYTES)) * BUDGETS.audioChunk.tokens;
}

/** Bytes of encrypted reasoning per token: as in English text, whose length it is assumed to have. */
const OPAQUE_BYTES_PER_TOKEN = 4;

export function opaqueBudget(sizeBytes: number): number {
  return Math.ceil(sizeBytes / OPAQUE_BYTES_PER_TOKEN);
}

/** Budgets of a structure that each protocol counts differently. A translated request is counted as its provider does. */
export interface ProtocolBudgets {
  /** Chat and responses. */
  readonly chat: number;
  readonly messages: number;
}

/** Structures that a translation turns into each other. */
export const TRANSLATED_BUDGETS = {
  base: { chat: BUDGETS.responsesBase.tokens, messages: BUDGETS.messagesBase.tokens },
  item: { chat: BUDGETS.responsesItem.tokens, messages: BUDGETS.messagesMessage.tokens },
  /** Instructions are a message in chat, and none in messages. */
  instructions: { chat: BUDGETS.responsesItem.tokens, messages: 0 },
  tools: { chat: BUDGETS.responsesTools.tokens, messages: BUDGETS.messagesTools.tokens },
  tool: { chat: BUDGETS.responsesTool.tokens, messages: BUDGETS.messagesTool.tokens },
  image: { chat: BUDGETS.image.tokens, messages: BUDGETS.imageMessages.tokens },
} as const satisfies Record<string, ProtocolBudgets>;

/** Percent that is added to every estimate (contract 4.4). */
const MARGIN_PERCENT = 10;
/** Factors have four decimals, as in the configuration. So totals are computed with integers. */
const FACTOR_UNIT = 10_000;

/** Counted tokens. Only the text is multiplied by the factor of the model. */
export interface Count {
  readonly textTokens: number;
  readonly budgetTokens: number;
  /** The budgets if the request is translated for a provider of another protocol. */
  readonly translatedBudgetTokens: ProtocolBudgets;
}

/** Returns (text x factor + budgets) x 1.1, rounded up. Computes with integers: as a floating-point number, 10 x 1.1 is more than 11. */
export function totalTokens(
  { textTokens, budgetTokens }: Pick<Count, 'textTokens' | 'budgetTokens'>,
  factor: number,
): number {
  const factorUnits = Math.round(factor * FACTOR_UNIT);
  const base = textTokens * factorUnits + budgetTokens * FACTOR_UNIT;
  return Math.ceil((base * (100 + MARGIN_PERCENT)) / (FACTOR_UNIT * 100));
}
