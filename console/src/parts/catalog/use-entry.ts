import { useState } from 'react';
import { type CatalogValue, type Fields, fieldsOf, textOf } from './catalog-value.ts';
import { type CatalogEdit, editsBetween, newEntry, withIndexesIn } from './edits.ts';
import type { Catalog } from './use-catalog.ts';

export type NamedSection = Exclude<keyof CatalogValue, 'billing'>;

/** A provider, model, plan or group in a form: all that the text has of it, with the changes of the form. */
export interface Entry {
  readonly section: NamedSection;
  readonly name: string;
  readonly isNew: boolean;
  /** Whether the catalog has another entry of this name. */
  readonly isNameTaken: boolean;
  readonly value: Fields;
  rename(name: string): void;
  /** Changes members; an empty value removes one. */
  change(members: Fields): void;
  replace(value: Fields): void;
  edits(): CatalogEdit[];
}

/**
 * The form is mounted while it is open, so that it begins with the stored entry. A refresh of the catalog does not replace the input.
 *
 * @param name `null`: a new entry
 * @param first a new entry, with its members in the order of the text
 */
export function useEntry(catalog: Catalog, section: NamedSection, name: string | null, first: Fields = {}): Entry {
  const entries = catalog.value[section];
  const [stored] = useState(() => (name === null ? null : withIndexesIn(fieldsOf(entries[name]))));
  const [value, setValue] = useState(stored ?? first);
  const [entered, setEntered] = useState(name ?? '');
  const path = [section, entered];
  return {
    section,
    name: entered,
    isNew: name === null,
    isNameTaken: name === null && Object.hasOwn(entries, entered),
    value,
    rename: setEntered,
    change: (members) => setValue((now) => ({ ...now, ...members })),
    replace: setValue,
    edits: () => (stored === null ? newEntry(path, value) : editsBetween(path, stored, value)),
  };
}

/** The text of a setting such as `limits.requestsPerMinute`. */
export function settingText({ value }: Pick<Entry, 'value'>, setting: string): string {
  return textOf(memberAt(value, setting));
}

export function memberAt(value: Fields, setting: string): unknown {
  return setting.split('.').reduce<unknown>((found, key) => fieldsOf(found)[key], value);
}
