/** Tokens of a model per o200k token, by the family in the model's name; 1 for all others. The configuration can override this. */
interface Family {
  readonly name: string;
  readonly pattern: RegExp;
  readonly factor: number;
  readonly source: string;
}

export const FAMILIES: readonly Family[] = [
  {
    name: 'Claude up to 3.7',
    pattern: /\bclaude-(?:instant|v?[123](?!\d))/,
    factor: 1.2,
    source:
      'the vocabulary of 2023, measured against o200k and multiplied by 1.1: 1.08 for prose, 1.20 for JSON, 1.22 for source code, 1.26 for Markdown, 1.69 for Chinese',
  },
  {
    // Such as `claude-opus-4-5-20250929`, `claude-4.5-sonnet` and `claude-opus-4@20250514` (4.0).
    name: 'Claude 4 to 4.6',
    pattern: /\bclaude-(?:[a-z]+-)?4(?:[-.@](?:[0-6]|\d{8})(?!\d)|(?![-.@]?\d))/,
    factor: 1.2,
    source: 'the numbers for Claude up to 3.7: the tokenizer changed only with Claude 4.7',
  },
  {
    name: 'Claude 4.7 and later, Fable, Mythos',
    pattern: /\bclaude\b|\b(?:fable|mythos)-\d/,
    factor: 1.55,
    source:
      'the vendor documents a newer tokenizer with about 30 % more tokens: 1.4 to 1.65 for English and code, 2.2 for Chinese',
  },
  {
    name: 'GPT and o-series',
    pattern: /\b(?:gpt|chatgpt|codex|o[1-9])\b/,
    factor: 1,
    source: 'these models use the o200k vocabulary',
  },
];

const UNKNOWN_FAMILY_FACTOR = 1;

export function familyFactor(modelName: string): number {
  const name = modelName.toLowerCase();
  return FAMILIES.find(({ pattern }) => pattern.test(name))?.factor ?? UNKNOWN_FAMILY_FACTOR;
}
