import { CALL_MESSAGES } from './call-messages.ts';
import { CATALOG_MESSAGES } from './catalog-messages.ts';
import { GATEWAY_MESSAGES } from './gateway-messages.ts';
import { PHRASES, REQUEST_MESSAGES } from './request-messages.ts';

interface Pattern {
  readonly parts: readonly string[];
  readonly chinese: string;
}

function patternsOf(texts: Readonly<Record<string, string>>): readonly Pattern[] {
  return Object.entries(texts).map(([english, chinese]) => ({ parts: english.split('{}'), chinese }));
}

/** The patterns with the most literal text first: if several match, the first is used. */
const patterns = patternsOf({
  ...GATEWAY_MESSAGES,
  ...CALL_MESSAGES,
  ...CATALOG_MESSAGES,
  ...REQUEST_MESSAGES,
}).toSorted((one, other) => other.parts.join('').length - one.parts.join('').length);
const phrases = patternsOf(PHRASES);

const SENTENCE_END = /(?<=[.?]) (?=[A-Z])/;

/** The message in Chinese, after its field name if it has one. Unknown messages stay in English. */
export function inChinese(message: string): string {
  return known(message) ?? message;
}

function known(message: string): string | null {
  const whole = matched(patterns, message, (value) => !SENTENCE_END.test(value));
  if (whole !== null) return whole;
  const sentences = message.split(SENTENCE_END);
  const each = sentences.length === 1 ? [] : sentences.map(known);
  if (each.length > 0 && !each.includes(null)) return each.join('');
  const colon = message.indexOf(': ');
  const field = message.slice(0, Math.max(colon, 0));
  const rest = /^[\w.[\]-]+$/.test(field) ? known(message.slice(colon + 2)) : null;
  return rest === null ? matched(patterns, message, () => true) : `${field}：${rest}`;
}

function matched(from: readonly Pattern[], text: string, isValue: (value: string) => boolean): string | null {
  for (const { parts, chinese } of from) {
    const values = valuesIn(text, parts);
    if (values === null || !values.every(isValue)) continue;
    return chinese.replace(/\{(\d)(\*?)\}/g, (whole, number: string, isTranslated: string, at: number) => {
      const value = values[Number(number) - 1]!;
      const words = isTranslated === '' ? null : (matched(phrases, value, () => true) ?? known(value.trim()));
      return spaced(chinese[at - 1], words ?? value, chinese[at + whole.length]);
    });
  }
  return null;
}

const HAN = /^\p{Script=Han}/u;
const LATIN = /^[A-Za-z0-9]/;

/** Between Chinese and Latin characters stands a space. */
function spaced(before = '', value: string, after = ''): string {
  const [first = '', last = ''] = [value.at(0), value.at(-1)];
  return `${HAN.test(before) && LATIN.test(first) ? ' ' : ''}${value}${LATIN.test(last) && HAN.test(after) ? ' ' : ''}`;
}

/** The values of a pattern's placeholders; `null` if the message does not match. */
function valuesIn(message: string, parts: readonly string[]): string[] | null {
  const [first, ...others] = parts as [string, ...string[]];
  if (!message.startsWith(first)) return null;
  if (others.length === 0) return message === first ? [] : null;
  const values: string[] = [];
  let at = first.length;
  for (const [index, part] of others.entries()) {
    const isLast = index === others.length - 1;
    const end = isLast ? (message.endsWith(part) ? message.length - part.length : -1) : message.indexOf(part, at);
    if (end < at) return null;
    values.push(message.slice(at, end));
    at = end + part.length;
  }
  return values;
}
