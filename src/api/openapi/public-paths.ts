import type { CredentialForms } from '../../http/credentials.ts';
import { type OperationName, operationNames } from '../../protocols/operations/all.ts';
import type { CallEndpoint, Endpoint, EstimateEndpoint, QueryEndpoint } from '../endpoints/endpoint.ts';
import { callDocuments, estimateDocuments, type PostDocument } from '../endpoints/schemas/documents.ts';
import { callStatuses, type ErrorResponses } from './errors.ts';
import { exampleOf } from './examples.ts';
import type { JsonSchema, SchemaCollection } from './json-schema.ts';
import { IDEMPOTENCY_KEY, operationIdOf, type PlacedOperation, pathParameters, queryParameters } from './operation.ts';

const SECURITY: Readonly<Record<CredentialForms | 'none', readonly object[]>> = {
  bearer: [{ apiKey: [] }],
  'bearer-or-x-api-key': [{ apiKey: [] }, { xApiKey: [] }],
  none: [],
};

type Described = Omit<PlacedOperation['operation'], 'operationId'> & { readonly tags: readonly string[] };

export function publicOperations(
  table: readonly Endpoint[],
  schemas: SchemaCollection,
  errors: ErrorResponses,
): PlacedOperation[] {
  return table.map((endpoint) => {
    const { method, path, credential } = endpoint;
    return {
      method,
      path,
      operation: {
        operationId: operationIdOf(method, path),
        security: SECURITY[credential],
        ...('query' in endpoint ? queryOf(endpoint) : postOf(endpoint)),
      },
    };
  });

  function postOf(endpoint: CallEndpoint | EstimateEndpoint): Described {
    const isCall = 'operation' in endpoint;
    const document = isCall ? callDocuments[nameOf(endpoint)] : estimateDocuments[endpoint.estimate.kind];
    const { summary, tag, request, requestType, response, events } = document;
    const content = {
      'application/json': mediaOf(response, 'output'),
      ...(events === null ? {} : { 'text/event-stream': { schema: { description: events } } }),
    };
    return {
      summary: endpoint.context === 'coding' ? `${summary}, on the Coding Plan` : summary,
      tags: [tag],
      ...(isCall ? { parameters: [IDEMPOTENCY_KEY] } : {}),
      requestBody: { required: true, content: { [requestType]: mediaOf(request, 'input') } },
      responses: {
        200: { description: 'Done.', content },
        ...errors.of(isCall ? callStatuses(endpoint.envelope) : ESTIMATE_STATUSES, endpoint.envelope),
        ...(isCall ? errors.ofProvider(endpoint.envelope) : {}),
      },
    };
  }

  function queryOf({ path, query, envelope, credential }: QueryEndpoint): Described {
    const { summary, tag, response, query: parameters } = query.document;
    const all = [
      ...pathParameters(path, { type: 'string', minLength: 1 }),
      ...(parameters === null ? [] : queryParameters(schemas.schemaOf(parameters, 'input'))),
    ];
    return {
      summary,
      tags: [tag],
      ...(all.length === 0 ? {} : { parameters: all }),
      responses: {
        200: { description: 'Done.', content: { 'application/json': mediaOf(response, 'output') } },
        304: { description: 'The client has this response already, according to its If-None-Match header.' },
        ...errors.of(credential === 'none' ? [] : [400, 401, 403, 404, 429], envelope),
      },
    };
  }

  function mediaOf(schema: PostDocument['response'], form: 'input' | 'output'): object {
    const made: JsonSchema = schemas.schemaOf(schema, form);
    const isForm = schema === callDocuments['images.edit'].request;
    return isForm ? { schema: made } : { schema: made, example: exampleOf(made, schemas, 'exemplified') };
  }
}

const ESTIMATE_STATUSES = [400, 401, 403, 404, 413, 415, 429];

function nameOf({ operation: { name } }: CallEndpoint): OperationName {
  const found = operationNames.find((known) => known === name);
  if (found === undefined) throw new Error(`there is no document of the operation ${name}`);
  return found;
}
