import { adminEnvelope } from '../../errors/envelopes.ts';
import type { ErrorResponses } from './errors.ts';
import { operationIdOf, type PlacedOperation, pathParameters } from './operation.ts';

const RETURN_TO = {
  name: 'returnTo',
  in: 'query',
  required: false,
  description: 'Where the browser goes afterwards: an address below /console.',
  schema: { type: 'string' },
};

/** The addresses that a browser itself is sent to, and that send it on. */
export function pageOperations(prefix: string, errors: ErrorResponses): PlacedOperation[] {
  const page = (end: string, summary: string, description: string, query: readonly object[], statuses: number[]) => {
    const path = `${prefix}/oidc/:id/${end}`;
    return {
      method: 'GET',
      path,
      operation: {
        operationId: operationIdOf('GET', path),
        summary,
        tags: ['People: oidc'],
        security: [],
        parameters: [...pathParameters(path, { type: 'string', minLength: 1 }), ...query],
        responses: {
          302: { description, headers: { location: { schema: { type: 'string' } } } },
          ...errors.of(statuses, adminEnvelope),
        },
      },
    };
  };
  return [
    page(
      'start',
      'Send the browser to an OpenID provider to sign in',
      'To the provider.',
      [RETURN_TO],
      [400, 404, 429, 502],
    ),
    page(
      'callback',
      'Complete a sign-in at an OpenID provider',
      'To `returnTo`, signed in, or to `/console#/sign-in?error=…` with the reason.',
      [],
      [404],
    ),
  ];
}
