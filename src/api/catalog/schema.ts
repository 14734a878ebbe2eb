import { z } from 'zod';
import { catalogJsonSchema, type JsonSchema } from '../../config/catalog-json-schema.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';

const catalogSchema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'CatalogSchema', description: 'JSON Schema, draft 2020-12.' });

/** The form of the text of a catalog, for editors. */
export function catalogSchemaEndpoints(): AdminEndpoint[] {
  let schema: JsonSchema | null = null;
  return [
    adminEndpoint({
      method: 'GET',
      path: '/catalog/schema',
      summary: 'Show the JSON Schema of the text of the catalog, for editors',
      response: catalogSchema,
      async run() {
        schema ??= catalogJsonSchema();
        return schema;
      },
    }),
  ];
}
