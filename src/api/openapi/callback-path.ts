import { adminEnvelope } from '../../errors/envelopes.ts';
import type { ErrorResponses } from './errors.ts';
import { operationIdOf, type PlacedOperation, pathParameters } from './operation.ts';

/** Describes the address to which OpenID providers redirect browsers. */
export function callbackOperation(prefix: string, errors: ErrorResponses): PlacedOperation {
  const path = `${prefix}/oidc/:id/callback`;
  return {
    method: 'GET',
    path,
    operation: {
      operationId: operationIdOf('GET', path),
      summary: 'Complete a sign-in at an OpenID provider',
      tags: ['People: oidc'],
      security: [],
      parameters: pathParameters(path, { type: 'string', minLength: 1 }),
      responses: {
        302: {
          description:
            'After a sign-in, redirects to `returnTo`; after an error, to `/console#/sign-in?error=…` with the reason.',
          headers: { location: { schema: { type: 'string' } } },
        },
        ...errors.of([404], adminEnvelope),
      },
    },
  };
}
