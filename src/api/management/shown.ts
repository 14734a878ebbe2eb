import type { z } from 'zod';

/** Instants can be text or `Date`. */
type Showable<Response> = {
  readonly [Name in keyof Response]: Response[Name] | (string extends Response[Name] ? Date : never);
};

/** A new column stays private until the schema contains it. Instants become text. */
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
