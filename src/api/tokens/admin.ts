import { z } from 'zod';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { signerIdOf } from '../../people/actor.ts';
import { ACTIVE_TOKENS_MAX } from '../../people/admin-token.ts';
import type { AdminTokenMaker } from '../../people/admin-token-maker.ts';
import type { AdminToken, AdminTokensStore } from '../../people/admin-tokens-store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, notFound, unprocessable } from '../management/endpoint.ts';
import { at, pageOf, signerId } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { instant, page, shortText, toPage } from '../management/wire.ts';
import { peopleError } from '../sessions/people-errors.ts';

interface TokenAdminDependencies {
  readonly adminTokens: Pick<AdminTokensStore, 'list' | 'find' | 'revoke'>;
  readonly tokenMaker: AdminTokenMaker;
  readonly clock: Clock;
}

const role = z.enum(['operator', 'auditor']);
const scopes = z.array(z.enum(['export']));
const newToken = z.strictObject({
  name: shortText,
  /** Role of the token. Default: the lower one. A token with scopes has no role. */
  role: role.optional(),
  scopes: scopes.max(1).default([]),
  expiresAt: instant.nullish(),
});
const tokenList = z.strictObject(page);

const tokenResponse = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: role.nullable().describe('null: the token has no role and can do only what its scopes allow.'),
    scopes: scopes.readonly(),
    prefix: z.string(),
    createdAt: at,
    createdBy: z.string(),
    createdById: signerId,
    madeByTokenId: z
      .string()
      .nullable()
      .describe(
        'The token that created this token. When that token is revoked or expires, this one is revoked too. null: no token created it.',
      ),
    expiresAt: at.nullable(),
    revokedAt: at.nullable(),
    lastUsedAt: at.nullable().meta({ description: 'When the token was last used, accurate to a minute; null: never.' }),
  })
  .meta({ id: 'AdminToken' });
export type TokenResponse = z.infer<typeof tokenResponse>;
const newTokenResponse = z.strictObject({ ...tokenResponse.shape, token: z.string() });
export type NewTokenResponse = z.infer<typeof newTokenResponse>;

export function tokenEndpoints({ adminTokens, tokenMaker, clock }: TokenAdminDependencies): AdminEndpoint[] {
  async function read(id: string) {
    const token = await adminTokens.find(id);
    return token && tokenToWire(token);
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/tokens',
      status: 201,
      summary: 'Create a named admin token; its text is shown only once',
      body: newToken,
      response: newTokenResponse,
      async run({ body }, { actor }) {
        const { name, scopes, expiresAt = null } = body;
        const { role = scopes.length === 0 ? 'auditor' : null } = body;
        const made = await tokenMaker.make({ name, role, scopes, expiresAt }, actor);
        switch (made) {
          case 'role_not_allowed':
            throw new GatewayError('roleNotAllowed', {
              message: `Only an operator may create a token with the role ${role}.`,
            });
          case 'by_token':
            throw new GatewayError('roleNotAllowed', {
              message:
                'Among tokens, only one with the scope "export" can create another token with that scope. Create it in the console or on the machine’s command line.',
            });
          case 'sign_in_again':
          case 'token_ended':
            throw peopleError(made);
          case 'expired':
            throw unprocessable('expiresAt: The expiry is in the past.', 'expiresAt');
          case 'name_taken':
            throw conflict(`A token called ${JSON.stringify(name)} is in use. Revoke it first.`);
          case 'too_many':
            throw conflict(`There are ${ACTIVE_TOKENS_MAX} active tokens, which is the limit. Revoke one first.`);
          default:
            return { ...tokenToWire(made.token), token: made.text };
        }
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/tokens',
      summary: 'List named admin tokens, newest first, without the secrets; the token of the environment is not listed',
      query: tokenList,
      response: pageOf(tokenResponse),
      async run({ query }) {
        const found = await adminTokens.list(query.cursor ?? null, query.limit);
        return toPage(found.map(tokenToWire), query.limit, ({ id }) => id);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/tokens/:id',
      subject: { kind: 'token', read },
      summary: 'Revoke an admin token and the tokens it created, and suspend the unconfirmed users it created',
      query: z.strictObject({
        keepMade: z
          .enum(['true', 'false'])
          .optional()
          .describe(
            'true: the users and tokens that the token created are kept and confirmed. Tokens cannot send this.',
          ),
      }),
      async run({ id, query }, { actor }) {
        const keepsMade = query.keepMade === 'true';
        if (keepsMade && actor.kind === 'admin_token') {
          throw new GatewayError('roleNotAllowed', {
            message: 'A token cannot use keepMade. Revoke the token in the console or on the machine’s command line.',
          });
        }
        if (!(await adminTokens.revoke(id, new Date(clock.nowMs()), keepsMade))) throw notFound('token', id);
      },
    }),
  ];
}

function tokenToWire(token: AdminToken): TokenResponse {
  return shown(tokenResponse, { ...token, createdById: signerIdOf(token.createdBy) });
}
