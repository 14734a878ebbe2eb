import { adminEnvelope } from '../../errors/envelopes.ts';
import type { AccountNeed, AdminNeed } from '../../people/access.ts';
import type { ManagementEndpoint } from '../management/endpoint.ts';
import type { VisitNeed } from '../sessions/endpoint.ts';
import type { ErrorResponses } from './errors.ts';
import { exampleOf } from './examples.ts';
import type { SchemaCollection } from './json-schema.ts';
import { IDEMPOTENCY_KEY, operationIdOf, type PlacedOperation, pathParameters, queryParameters } from './operation.ts';

type Need = AdminNeed | AccountNeed | VisitNeed;

type DocumentedEndpoint = Omit<ManagementEndpoint<Need, never>, 'run'>;

export interface DocumentedTable {
  readonly prefix: string;
  readonly name: 'Account' | 'Admin' | 'People';
  readonly endpoints: readonly DocumentedEndpoint[];
}

const WHO: Readonly<Record<Need, string>> = {
  anyone: 'For everybody.',
  signed_in: 'For signed-in users.',
  read: 'For operators and auditors.',
  change: 'For operators.',
  operator_person: 'For signed-in operators, and the command line on the gateway’s machine.',
  export:
    'For operators who have signed in within the last 5 minutes, tokens with the scope `export`, and the command line on the gateway’s machine.',
  member: 'For everybody in the account.',
  owner: 'For owners of the account.',
  person: 'For signed-in owners of the account.',
};

const SECURITY: Readonly<Record<Need, readonly object[]>> = {
  anyone: [],
  signed_in: [{ session: [] }],
  read: [{ adminToken: [] }, { session: [] }],
  change: [{ adminToken: [] }, { session: [] }],
  operator_person: [{ session: [] }],
  export: [{ adminToken: [] }, { session: [] }],
  member: [{ apiKey: [] }, { session: [] }],
  owner: [{ apiKey: [] }, { session: [] }],
  person: [{ session: [] }],
};

const ACCOUNT_ID = {
  name: 'accountId',
  in: 'query',
  required: false,
  description: 'The account. Required for users who belong to several accounts.',
  schema: { type: 'string' },
};

export function managementOperations(
  { prefix, name, endpoints }: DocumentedTable,
  schemas: SchemaCollection,
  errors: ErrorResponses,
): PlacedOperation[] {
  return endpoints.map((endpoint) => {
    const { method, summary, needs, querySchema, bodySchema, isRepeatable } = endpoint;
    const path = prefix + endpoint.path;
    const parameters = [
      ...pathParameters(path, { type: 'string', minLength: 1 }),
      ...(name === 'Account' ? [ACCOUNT_ID] : []),
      ...(querySchema === null ? [] : queryParameters(schemas.schemaOf(querySchema, 'input'))),
      ...(isRepeatable ? [IDEMPOTENCY_KEY] : []),
    ];
    return {
      method,
      path,
      operation: {
        operationId: operationIdOf(method, path),
        summary,
        description: WHO[needs],
        tags: [tagOf(name, endpoint.path)],
        security: SECURITY[needs],
        ...(parameters.length === 0 ? {} : { parameters }),
        ...(bodySchema === null ? {} : { requestBody: { required: true, content: jsonOf(bodySchema, 'input') } }),
        responses: {
          [endpoint.status]: responseOf(endpoint),
          ...errors.of(statusesOf(name, endpoint), adminEnvelope),
        },
      },
    };
  });

  function jsonOf(schema: Parameters<SchemaCollection['schemaOf']>[0], form: 'input' | 'output'): object {
    const made = schemas.schemaOf(schema, form);
    const example = exampleOf(made, schemas, form === 'input' ? 'exemplified' : 'all');
    return { 'application/json': { schema: made, example } };
  }

  function responseOf({ responseSchema, lines }: DocumentedEndpoint): object {
    if (responseSchema === null && lines === null) return { description: 'Done.' };
    const content = {
      ...(responseSchema === null ? {} : jsonOf(responseSchema, 'output')),
      ...(lines === null ? {} : { [lines.mediaType]: { schema: { type: 'string', description: lines.description } } }),
    };
    return { description: 'Done.', content };
  }
}

function statusesOf(name: DocumentedTable['name'], { method, path, bodySchema }: DocumentedEndpoint): number[] {
  return [
    ...[400, 401, 403],
    ...(name !== 'Admin' || method !== 'GET' || path.includes(':') ? [404] : []),
    ...(method === 'GET' ? [] : [409, 422]),
    // For endpoints of people, attempts to guess a credential are limited.
    ...(name === 'People' ? [429] : []),
    ...(bodySchema === null ? [] : [413, 415]),
    // Only this endpoint sends a request to an OpenID provider.
    ...(path === '/oidc/:id/flows' ? [502] : []),
  ];
}

function tagOf(name: DocumentedTable['name'], path: string): string {
  return `${name}: ${path.split('/')[1]}`;
}
