import { z } from 'zod';
import { providerCredential } from './provider-credentials.ts';
import { CATALOG_SECTIONS, configSchema } from './schema.ts';
import { useLimits } from './use-limits-schema.ts';

export type JsonSchema = { readonly [member: string]: unknown };

/**
 * The JSON Schema (draft 2020-12) of the text of a catalog, for editors. It describes members and words; `rules.ts` has the rules between
 * values, which only a check applies.
 */
export function catalogJsonSchema(): JsonSchema {
  const sections = Object.fromEntries(CATALOG_SECTIONS.map((name) => [name, configSchema.shape[name]]));
  return z.toJSONSchema(z.strictObject(sections), {
    io: 'input',
    reused: 'ref',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema._zod.def === providerCredential._zod.def) jsonSchema.anyOf = CREDENTIAL;
      // A number is a number in the text of a catalog. The parser reads it as text, so that it is not rounded.
      if (jsonSchema.type === 'string' && jsonSchema.enum === undefined) {
        Object.assign(jsonSchema, { type: ['string', 'number'] });
      }
      const numbers = (jsonSchema.enum ?? []).filter((word) => /^\d+$/.test(String(word))).map(Number);
      if (numbers.length > 0)
        Object.assign(jsonSchema, { type: ['string', 'number'], enum: [...jsonSchema.enum!, ...numbers] });
    },
  }) as JsonSchema;
}

const { $schema: _, ...LIMITS } = z.toJSONSchema(useLimits, { io: 'input', unrepresentable: 'any' });

const reference = (member: string, description: string) => ({
  type: 'object' as const,
  properties: { [member]: { type: 'string' as const, description }, limits: LIMITS },
  required: [member],
  additionalProperties: false,
});

const CREDENTIAL = [
  { type: 'string' as const },
  reference('value', 'The credential itself.'),
  reference('file', 'Path of a file with the credential, on each node.'),
  reference('secret', 'Name of a sealed secret.'),
  reference('command', 'Name of a command in the configuration file of each node.'),
];
