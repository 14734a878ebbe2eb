import type { z } from 'zod';

/**
 * Of a wire of the admin API the members that a schema of the account API names, and no others: what is added there for
 * operators is not shown here until somebody decides so.
 */
export function shown<Schema extends z.ZodObject>(schema: Schema, wire: z.infer<Schema>): z.infer<Schema> {
  const members = Object.keys(schema.shape).filter((name) => name in wire);
  return Object.fromEntries(members.map((name) => [name, wire[name]])) as z.infer<Schema>;
}

/** The same for a page of a list. */
export function shownPage<Schema extends z.ZodObject, Page extends { readonly data: readonly z.infer<Schema>[] }>(
  schema: Schema,
  page: Page,
) {
  return { ...page, data: page.data.map((wire) => shown(schema, wire)) };
}
