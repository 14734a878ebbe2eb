import { isRecord } from '../lib/json/json.ts';

/** Up to this number of items, lists and records are recorded completely. */
const SHOWN_MAX = 20;

/** One side of the difference between two long lists or records. */
export class Changed {
  /** Items or members that the other side does not have. */
  readonly part: readonly unknown[] | Readonly<Record<string, unknown>>;
  readonly unchanged: number;

  constructor(part: Changed['part'], unchanged: number) {
    this.part = part;
    this.unchanged = unchanged;
  }
}

/** Shortens the long lists and records in two values to the items and members that the other value does not have. */
export function differenceOf(before: unknown, after: unknown): [unknown, unknown] {
  return isRecord(before) && isRecord(after) ? membersOf(before, after) : [before, after];
}

function membersOf(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) {
  const both = new Map(
    Object.keys(before)
      .filter((name) => Object.hasOwn(after, name))
      .map((name) => [name, shorten(before[name], after[name])] as const),
  );
  const side = (value: Readonly<Record<string, unknown>>, i: 0 | 1) =>
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, both.get(name)?.[i] ?? member]));
  return [side(before, 0), side(after, 1)] as [unknown, unknown];
}

function shorten(before: unknown, after: unknown): readonly [unknown, unknown] {
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length + after.length <= SHOWN_MAX) return [before, after];
    return [without(before, after), without(after, before)];
  }
  if (!isRecord(before) || !isRecord(after)) return [before, after];
  if (Object.keys(before).length + Object.keys(after).length <= SHOWN_MAX) return membersOf(before, after);
  return [withoutMembers(before, after), withoutMembers(after, before)];
}

function without(items: readonly unknown[], others: readonly unknown[]): Changed {
  const known = new Set(others.map((item) => JSON.stringify(item)));
  const own = items.filter((item) => !known.has(JSON.stringify(item)));
  return new Changed(own, items.length - own.length);
}

function withoutMembers(value: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): Changed {
  const all = Object.entries(value);
  const own = all.filter(
    ([name, member]) => !Object.hasOwn(other, name) || JSON.stringify(other[name]) !== JSON.stringify(member),
  );
  return new Changed(Object.fromEntries(own), all.length - own.length);
}
