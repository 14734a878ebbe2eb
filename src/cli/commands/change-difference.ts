import { isDeepStrictEqual } from 'node:util';

type Subject = Readonly<Record<string, unknown>> | null;

const VALUE_LENGTH_MAX = 40;
const DIFFERENCES_MAX = 4;
const ITEMS_MAX = 4;

/** Describes the members that differ, such as `status: "active" → "suspended", allowedNetworks: +"0.0.0.0/0"`. */
export function changeDifference(before: Subject, after: Subject): string {
  if (before === null || after === null) return '';
  const names = Object.keys(after).filter((name) => name in before && !isDeepStrictEqual(before[name], after[name]));
  const shown = names.slice(0, DIFFERENCES_MAX).map((name) => `${name}: ${differenceOf(before[name], after[name])}`);
  return [...shown, ...(names.length > shown.length ? [`and ${names.length - shown.length} more`] : [])].join(', ');
}

/** Describes one difference. Added items come before removed ones, so that nobody overlooks them. */
function differenceOf(before: unknown, after: unknown): string {
  if (!Array.isArray(before) || !Array.isArray(after)) return `${shortOf(before)} → ${shortOf(after)}`;
  const marked = [
    ...without(after, before).map((item) => `+${shortOf(item)}`),
    ...without(before, after).map((item) => `-${shortOf(item)}`),
  ];
  if (marked.length === 0) return 'in another order';
  const hidden = marked.length - ITEMS_MAX;
  return [...marked.slice(0, ITEMS_MAX), ...(hidden > 0 ? [`and ${hidden} more`] : [])].join(' ');
}

/**
 * Returns the items that are not in `others`, without notes such as `… 99 unchanged`. Short items come first, because the widest networks
 * have the shortest text.
 */
function without(items: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map((item) => JSON.stringify(item)));
  return items
    .filter((item) => !known.has(JSON.stringify(item)) && !isNote(item))
    .toSorted((one, other) => JSON.stringify(one).length - JSON.stringify(other).length);
}

const isNote = (item: unknown): boolean => typeof item === 'string' && /^… \d+ unchanged$/.test(item);

function shortOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
}
