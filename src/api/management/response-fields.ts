import { z } from 'zod';

/** An amount of money in the format of `formatYuan`. */
export const yuan = z
  .string()
  .regex(/^-?\d+(\.\d{1,9})?$/)
  .meta({
    id: 'Yuan',
    description: 'An amount in yuan: a decimal string with at most 9 decimals.',
    examples: ['12.5'],
  });

/** An instant in the format of `Date.toISOString`. */
export const at = z.iso
  .datetime()
  .meta({ id: 'Instant', description: 'An instant in ISO 8601, in UTC.', examples: ['2026-11-20T12:00:00.000Z'] });

export const count = z.int().min(0);

/** Id of an actor. Responses show it next to the actor's name. */
export const signerId = z.string().nullable().meta({
  description:
    'The id of the user or admin token; null: there is none, for example for the command line. Names are not unique.',
});

export const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'The `cursor` of the next page; null: this is the last page.' });

export const pageOf = <Item extends z.ZodType>(item: Item) => z.strictObject({ data: listOf(item), nextCursor });
export type Page<Item> = z.infer<ReturnType<typeof pageOf<z.ZodType<Item>>>>;
