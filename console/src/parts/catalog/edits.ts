import type { BodyOf } from '../../api/client.ts';

/** A setting of the catalog and its new value; without a value, the setting is removed. */
export type CatalogEdit = NonNullable<BodyOf<'POST /admin/v1/catalog/check'>['edits']>[number];

export type EditPath = CatalogEdit['path'];

/** The edit of one setting: none if it is unchanged, its removal if it is empty. */
export function edited(path: EditPath, before: unknown, after: unknown): CatalogEdit[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return isEmpty(after) ? [{ path }] : [{ path, value: after }];
}

/** The edits of the members of an entry, by their names. */
export function editedMembers<Members extends object>(path: EditPath, before: Members, after: Members): CatalogEdit[] {
  return Object.entries(after).flatMap(([name, value]) =>
    edited([...path, name], before[name as keyof Members], value),
  );
}

/** The members of a new entry: those that are not empty. */
export function filled<Members extends object>(members: Members): Partial<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value))) as Partial<Members>;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** A whole number as such; all else, such as `8MiB` or `${LIMIT}`, as text. */
export function numberOrText(entered: string): number | string {
  return /^(?:0|[1-9]\d{0,14})$/.test(entered) ? Number(entered) : entered;
}
