import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A schema of draft 2020-12, as in OpenAPI 3.1. */
export type JsonSchema = { readonly [member: string]: unknown };

const REFERENCE = '#/components/schemas/';

/** Collects schemas. Those with an `id` become components of the document. */
export class SchemaCollection {
  readonly #kept = new Map<string, JsonSchema>();

  get kept(): { readonly [id: string]: JsonSchema } {
    return Object.fromEntries([...this.#kept].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  resolve(schema: JsonSchema): JsonSchema {
    if (typeof schema.$ref !== 'string') return schema;
    return this.resolve(this.#kept.get(schema.$ref.slice(REFERENCE.length))!);
  }

  /**
   * Converts a schema. `input`: as in requests, before parsing; `output`: as in responses.
   * @throws if two different schemas, or two different forms of one, have the same id
   */
  schemaOf(schema: z.ZodType, form: 'input' | 'output'): JsonSchema {
    // Converted within an array, because Zod never makes the outermost schema a reference.
    const list = z.toJSONSchema(z.array(schema), {
      io: form,
      override: ({ zodSchema, jsonSchema }) => {
        // Adds examples of transformed values, which are those of the input. Zod omits them.
        const examples = z.globalRegistry.get(zodSchema)?.examples;
        if (form === 'input' && Array.isArray(examples)) jsonSchema.examples = examples;
        // In OpenAPI, `readOnly` would mean that requests omit the member.
        delete jsonSchema.readOnly;
        // The pattern has three hundred characters and says no more than the format.
        if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
      },
    });
    const { items, $defs = {} } = withReferences(list);
    for (const [id, definition] of Object.entries($defs)) {
      const known = this.#kept.get(id);
      if (known !== undefined && !isDeepStrictEqual(known, definition))
        throw new Error(`two schemas have the id ${id}`);
      this.#kept.set(id, definition);
    }
    return items;
  }
}

interface ListSchema {
  readonly items: JsonSchema;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

function withReferences(list: object): ListSchema {
  return JSON.parse(JSON.stringify(list), (name, value) =>
    name === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', REFERENCE) : value,
  );
}
