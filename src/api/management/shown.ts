import type { z } from 'zod';

/** A row with the members of a response. Instants may be `Date` or text. */
type Showable<Response> = {
  readonly [Name in keyof Response]: Response[Name] | (string extends Response[Name] ? Date : never);
};

/** Returns the members of a row that the schema contains, so that a new column stays private until then. Instants become text. */
export function shown<Schema extends z.ZodObject>(schema: Schema, row: Showable<z.infer<Schema>>): z.infer<Schema> {
  const members = Object.keys(schema.shape).filter((name) => name in row);
  return Object.fromEntries(members.map((name) => [name, textIfDate(row[name])])) as z.infer<Schema>;
}

function textIfDate(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

export function shownPage<Schema extends z.ZodObject, Page extends { readonly data: readonly z.infer<Schema>[] }>(
  schema: Schema,
  page: Page,
) {
  return { ...page, data: page.data.map((wire) => shown(schema, wire)) };
}
