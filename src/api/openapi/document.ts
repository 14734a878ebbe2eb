import { programVersion } from '../../lib/version.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { ACCOUNT_PREFIX } from '../management/prefixes.ts';
import { callbackOperation } from './callback-path.ts';
import { ErrorResponses } from './errors.ts';
import { SchemaCollection } from './json-schema.ts';
import { type DocumentedTable, managementOperations } from './management-paths.ts';
import { nodeOperations } from './node-paths.ts';
import { type PlacedOperation, templateOf } from './operation.ts';
import { publicOperations } from './public-paths.ts';

export interface DocumentedAddresses {
  readonly publicTable: readonly Endpoint[];
  readonly managementTables: readonly DocumentedTable[];
}

/** An OpenAPI document (https://spec.openapis.org/oas/v3.1.1). */
interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: { readonly [path: string]: { readonly [method: string]: object } };
  readonly [member: string]: unknown;
}

const DESCRIPTION = `A metered gateway in front of model providers: public addresses for calls, an account API for owners and \
members of accounts, and an admin API for operators.

Money is written as decimal strings in yuan, instants in ISO 8601. Every response has its request id in the headers \
\`x-request-id\` and \`request-id\`. HEAD is supported at all addresses that support GET, except \`/v1/public/models\`.

Public addresses forward fields that are not documented here to the provider, and from the provider to the client. The base \
address of a client may have one \`/v1\` too many or too few.`;

export function describeApi({ publicTable, managementTables }: DocumentedAddresses): OpenApiDocument {
  const schemas = new SchemaCollection();
  const errors = new ErrorResponses(schemas);
  const operations = [
    ...publicOperations(publicTable, schemas, errors),
    ...managementTables.flatMap((table) => managementOperations(table, schemas, errors)),
    callbackOperation(ACCOUNT_PREFIX, errors),
    ...nodeOperations(schemas, errors),
  ];
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))];
  return {
    openapi: '3.1.1',
    info: {
      title: 'Faregate',
      version: programVersion(),
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to this document, so that the URL is right behind any proxy.
    servers: [{ url: '/', description: 'This gateway' }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name.replace(/^(\w+): /, 'The $1 API: /') })),
    paths: byPath(operations),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. The account API requires a key with the scope `account`.',
        },
        xApiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'An admin token.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description:
            'The session of a signed-in user. Over https, the cookie has the name `__Host-faregate_session`.',
        },
      },
      responses: errors.kept,
      schemas: schemas.kept,
    },
  };
}

const TAGS: Readonly<Record<string, string>> = {
  Chat: 'Chat completions, from the balance or on a Coding Plan.',
  Messages: 'Messages, from the balance or on a Coding Plan, and estimates of their tokens.',
  Responses: 'Responses, their compaction, and estimates of their tokens.',
  Images: 'Images from prompts.',
  'Embeddings and rerank': 'Vectors that represent texts, and documents in the order of their relevance to a query.',
  Models: 'The models that can be called, and their prices. Free of charge.',
  Balance: 'What is left of the balance or the plan. Free of charge.',
  Node: 'Health, metrics and documentation of a node.',
};

const SESSION_COOKIE = 'faregate_session';

function byPath(operations: readonly PlacedOperation[]): OpenApiDocument['paths'] {
  const grouped = Map.groupBy(operations, ({ path }) => templateOf(path));
  return Object.fromEntries(
    [...grouped].map(([path, same]) => [
      path,
      Object.fromEntries(same.map(({ method, operation }) => [method.toLowerCase(), operation])),
    ]),
  );
}
