import type { BodyOf } from '../../api/client.ts';
import { type Fields, fieldsOf, isFields } from './catalog-value.ts';

/** A setting of the catalog and its new value; without a value, the setting is removed. */
export type CatalogEdit = NonNullable<BodyOf<'POST /admin/v1/catalog/check'>['edits']>[number];

export type EditPath = CatalogEdit['path'];

/**
 * A form changes a copy of an entry, and its edits are the differences. A setting without a difference is in no edit, so that the text of the
 * catalog keeps it as it is: comments, spelling, and what the form does not know. Empty values are settings that are absent.
 */
export function editsBetween(path: EditPath, before: unknown, after: unknown): CatalogEdit[] {
  if (isSame(before, after)) return [];
  const value = withoutEmpty(after);
  if (value === undefined) return [{ path }];
  if (isFields(before) && isFields(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => editsBetween([...path, name], before[name], after[name]));
  }
  const items = Array.isArray(before) && Array.isArray(after) ? itemEdits(path, before, after) : null;
  return items ?? [{ path, value }];
}

/** A new entry. */
export function newEntry(path: EditPath, value: Fields): CatalogEdit[] {
  return [{ path, value: fieldsOf(withoutEmpty(value)) }];
}

/** The index of an item in the list of the text. Copies by spread keep it. */
const INDEX = Symbol('index');

interface Indexed {
  readonly [INDEX]?: number;
}

/** Marks the items of lists with their index, so that edits of an item reach the right one after others are removed. */
export function withIndexes(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => (isFields(item) ? { ...withIndexesIn(item), [INDEX]: index } : item));
  return isFields(value) ? withIndexesIn(value) : value;
}

export function withIndexesIn(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, member]) => [name, withIndexes(member)]));
}

/** A copy that is a new item of a list. */
export function asNewItem({ ...fields }: Fields): Fields {
  delete (fields as { [INDEX]?: number })[INDEX];
  return fields;
}

/** `null` if items have changed places, or are not known to be the same. */
function itemEdits(path: EditPath, before: readonly unknown[], after: readonly unknown[]): CatalogEdit[] | null {
  const indexes = after.map((item) => (isFields(item) ? (item as Indexed)[INDEX] : undefined));
  const kept = indexes.filter((index) => index !== undefined);
  const isInOrder = indexes.every((index, at) => (at < kept.length ? index === kept[at] : index === undefined));
  const isAscending = kept.every((index, at) => at === 0 || index > kept[at - 1]!);
  if (kept.length === 0 || !isInOrder || !isAscending) return null;
  const removed = before.flatMap((_item, index) => (kept.includes(index) ? [] : [index]));
  return [
    ...kept.flatMap((index, at) => editsBetween([...path, index], before[index], after[at])),
    ...after.slice(kept.length).map((item, at) => ({ path: [...path, before.length + at], value: withoutEmpty(item) })),
    // From the end, so that the indexes of the others hold.
    ...removed.reverse().map((index) => ({ path: [...path, index] })),
  ];
}

function isSame(before: unknown, after: unknown): boolean {
  return comparable(before) === comparable(after);
}

/** Scalars of a text are strings, those of a form also numbers and booleans. */
function comparable(value: unknown): string | undefined {
  return JSON.stringify(withoutEmpty(value), (_name, member: unknown) =>
    typeof member === 'number' || typeof member === 'boolean' ? String(member) : member,
  );
}

/** `undefined` if nothing is left. */
function withoutEmpty(value: unknown): unknown {
  if (value === null || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isFields(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** The value of a setting; `undefined` if there is none. */
export function valueAt(value: unknown, path: EditPath): unknown {
  return path.reduce<unknown>(
    (found, key) => (found as { readonly [key: string | number]: unknown } | null)?.[key],
    value,
  );
}

/** A copy with another value of a setting. */
export function withValueAt<Value>(value: Value, path: EditPath, setting: unknown): Value {
  const [key, ...rest] = path;
  if (key === undefined) return setting as Value;
  const member = withValueAt(valueAt(value, [key]), rest, setting);
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? member : item)) as Value;
  return { ...value, [key]: member };
}

/** A whole number as such; all else, such as `8MiB` or `${LIMIT}`, as text. */
export function numberOrText(entered: string): number | string {
  return /^(?:0|[1-9]\d{0,14})$/.test(entered) ? Number(entered) : entered;
}
