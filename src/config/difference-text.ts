import { escapeText } from '../lib/plain-text.ts';
import type { CatalogChange } from './difference.ts';

const KINDS = {
  billing: '',
  limits: '',
  providers: 'provider',
  models: 'model',
  plans: 'plan',
  groups: 'group',
  priceSource: '',
} as const;

/** Describes a change as a sentence, such as "acme-large: output ¥16 → ¥14 from 2026-12-01". */
export function sentenceOf({ section, name, kind, setting, before, after, from }: CatalogChange): string {
  const words = setting === null ? KINDS[section] : wordsOf(setting, kind);
  const start = from === null ? '' : ` from ${from}`;
  const values =
    before !== null && after !== null
      ? ` ${shortened(before)} → ${shortened(after)}${start}`
      : `${before === null && after === null ? '' : ` ${shortened(before ?? after ?? '')}`}${start} ${kind}`;
  return escapeText(`${name ?? section}: ${words}${values}`);
}

const TEXT_CHARS_MAX = 80;

function shortened(text: string): string {
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}

/** Names of single items, by the name of their list or record. */
const ONE: Readonly<Record<string, string>> = {
  aliases: 'alias',
  apiKey: 'credential',
  apiKeys: 'credential',
  fallbacks: 'fallback',
  headers: 'header',
  innerModels: 'inner model',
  models: 'model',
  operations: 'operation',
  providers: 'provider',
  routes: 'route',
  prices: 'price',
  serviceTiers: 'service tier',
  speeds: 'speed',
  inferenceGeos: 'inference region',
};

/** Names of whole settings. */
const WHOLE: Readonly<Record<string, string>> = { apiKey: 'credential', apiKeys: 'credentials' };

/** Words for the calls to which a price applies. They follow the name of the price. */
const CONDITIONS: Readonly<Record<string, (key: string) => string>> = {
  thinking: () => 'with thinking',
  above: (tokens) => `above ${tokens} input tokens`,
  outputAbove: (tokens) => `above ${tokens} output tokens`,
  peak: () => 'in peak hours',
  offPeak: () => 'in off-peak hours',
};

/** Settings that are left out of the text: the settings in them are clear without their name. */
const SILENT: ReadonlySet<string> = new Set(['price', 'prices', 'limits', 'timeOfDay']);

interface Part {
  readonly word: string;
  /** Name or number in brackets; `null`: none. */
  readonly key: string | null;
}

function wordsOf(setting: string, kind: CatalogChange['kind']): string {
  const parts = [...setting.matchAll(/([^.[\]]+)(?:\[([^\]]*)\])?(?:\[([^\]]*)\])?/g)].map(
    ([, word = '', key, size]): Part => ({ word, key: size === undefined ? (key ?? null) : `${key} ${size}` }),
  );
  const subjects: string[] = [];
  const conditions: string[] = [];
  for (const [index, { word, key }] of parts.entries()) {
    const condition = CONDITIONS[word];
    const isLast = index === parts.length - 1;
    if (condition !== undefined) conditions.push(condition(key ?? ''));
    else if (SILENT.has(word) && !isLast) subjects.push(key ?? '');
    else
      subjects.push(
        isLast && key === null && kind === 'changed' ? (WHOLE[word] ?? spaced(word)) : (ONE[word] ?? spaced(word)),
        key ?? '',
      );
  }
  return [...subjects, ...conditions].filter((word) => word !== '').join(' ');
}

/** Converts `cachedInput` to "cached input". Leaves out units, which the value contains. */
function spaced(word: string): string {
  return word
    .replace(/Yuan$|BasisPoints$/, '')
    .replace(/(?<=[a-z])(?=[A-Z]|\d[a-z])/g, ' ')
    .toLowerCase();
}
