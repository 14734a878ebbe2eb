import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A JSON schema of draft 2020-12, as OpenAPI 3.1 has them. */
export type JsonSchema = { readonly [member: string]: unknown };

const REFERENCE = '#/components/schemas/';

/** JSON schemas of zod schemas. Those that have an `id` are kept once, and referred to. */
export class SchemaCollection {
  readonly #kept = new Map<string, JsonSchema>();

  /** By their ids, sorted. */
  get kept(): { readonly [id: string]: JsonSchema } {
    return Object.fromEntries([...this.#kept].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** The schema itself, where the given one refers to it. */
  resolve(schema: JsonSchema): JsonSchema {
    if (typeof schema.$ref !== 'string') return schema;
    return this.resolve(this.#kept.get(schema.$ref.slice(REFERENCE.length))!);
  }

  /**
   * `input`: what may be sent, before it is checked and read; `output`: what a response has.
   *
   * @throws if two schemas have one id, also one schema whose two forms differ.
   */
  schemaOf(schema: z.ZodType, form: 'input' | 'output'): JsonSchema {
    // A list of it, because the outermost schema would not be referred to.
    const list = z.toJSONSchema(z.array(schema), {
      io: form,
      override: ({ zodSchema, jsonSchema }) => {
        // Left out where the schema makes another value of what is sent; ours are examples of what is sent.
        const examples = z.globalRegistry.get(zodSchema)?.examples;
        if (form === 'input' && Array.isArray(examples)) jsonSchema.examples = examples;
        // OpenAPI has another meaning for it: members that are not sent.
        delete jsonSchema.readOnly;
        // The format says it, in less than three hundred characters.
        if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
      },
    }) as { items: JsonSchema; $defs?: Record<string, JsonSchema> };
    for (const [id, definition] of Object.entries(list.$defs ?? {})) this.keep(id, definition);
    return referring(list.items);
  }

  keep(id: string, definition: JsonSchema): void {
    const known = this.#kept.get(id);
    const referred = referring(definition);
    if (known !== undefined && !isDeepStrictEqual(known, referred)) throw new Error(`two schemas have the id ${id}`);
    this.#kept.set(id, referred);
  }
}

/** The schema with references to where OpenAPI keeps them. */
function referring<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(referring) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) =>
    name === '$ref' && typeof member === 'string'
      ? [name, member.replace('#/$defs/', REFERENCE)]
      : [name, referring(member)],
  );
  return Object.fromEntries(members) as Value;
}
