import type { z } from 'zod';

/** What a response is made of, where an instant may still be a `Date`. */
type Showable<Response> = {
  readonly [Name in keyof Response]: Response[Name] | (string extends Response[Name] ? Date : never);
};

/**
 * Of a row, or of a response of the admin API, the members that a schema names, and no others: what is added there is not shown here
 * until somebody decides so. Instants become text.
 */
export function shown<Schema extends z.ZodObject>(schema: Schema, row: Showable<z.infer<Schema>>): z.infer<Schema> {
  const members = Object.keys(schema.shape).filter((name) => name in row);
  return Object.fromEntries(members.map((name) => [name, textIfDate(row[name])])) as z.infer<Schema>;
}

function textIfDate(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

/** The same for a page of a list. */
export function shownPage<Schema extends z.ZodObject, Page extends { readonly data: readonly z.infer<Schema>[] }>(
  schema: Schema,
  page: Page,
) {
  return { ...page, data: page.data.map((wire) => shown(schema, wire)) };
}
