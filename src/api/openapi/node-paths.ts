import { z } from 'zod';
import { adminEnvelope } from '../../errors/envelopes.ts';
import type { ErrorResponses } from './errors.ts';
import type { SchemaCollection } from './json-schema.ts';
import { operationIdOf, type PlacedOperation } from './operation.ts';

const greeting = z.strictObject({ name: z.literal('faregate'), status: z.literal('ok') });
const health = z.strictObject({ status: z.literal('ok') });
const readiness = z.strictObject({ status: z.enum(['ready', 'not ready']), detail: z.array(z.string()).optional() });

export function nodeOperations(schemas: SchemaCollection, errors: ErrorResponses): PlacedOperation[] {
  const json = (schema: z.ZodType) => ({ 'application/json': { schema: schemas.schemaOf(schema, 'output') } });
  const get = (path: string, summary: string, responses: object, security: readonly object[] = []) => ({
    method: 'GET',
    path,
    operation: {
      operationId: operationIdOf('get', path === '/' ? 'root' : path),
      summary,
      tags: ['Node'],
      security,
      responses,
    },
  });
  const failures = errors.of([], adminEnvelope);
  const metrics = get(
    '/metrics',
    'Read the metrics of this node, or of all workers of a gateway',
    {
      200: {
        description: 'In the text format of OpenMetrics.',
        content: { 'application/openmetrics-text': { schema: { type: 'string' } } },
      },
      ...errors.of([401, 403], adminEnvelope),
    },
    [{ adminToken: [] }, { session: [] }],
  );
  return [
    get('/', 'Check whether this address is a gateway', {
      ...failures,
      200: { description: 'It is.', content: json(greeting) },
      302: { description: 'The address is a gateway. Browsers (`Accept: text/html`) are redirected to the console.' },
    }),
    get('/healthz', 'Check whether the process runs', {
      200: { description: 'It does.', content: json(health) },
      ...failures,
    }),
    get('/readyz', 'Check whether this node, or each worker of the gateway, takes calls', {
      ...failures,
      200: { description: 'It does.', content: json(readiness) },
      503: { description: 'The node, or one of the workers, does not take calls.', content: json(readiness) },
    }),
    metrics,
    get('/openapi.json', 'Read this document', {
      200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
      304: { description: 'The client has this document already, according to its If-None-Match header.' },
      ...failures,
    }),
  ];
}
