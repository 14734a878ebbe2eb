import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import { mayGrantRole } from '../../people/access.ts';
import { signatureOf, signerIdOf } from '../../people/actor.ts';
import { createAdminToken, hashAdminToken, LIVING_TOKENS_MAX, shownAdminToken } from '../../people/admin-token.ts';
import type { AdminToken, AdminTokensStore } from '../../people/admin-tokens-store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict, notFound, unprocessable } from '../management/endpoint.ts';
import { at, pageOf, signerId } from '../management/response-fields.ts';
import { instant, page, shortText, toPage } from '../management/wire.ts';

export interface TokenAdminParts {
  readonly adminTokens: Pick<AdminTokensStore, 'insert' | 'list' | 'find' | 'revoke'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom?: FillRandom;
}

const role = z.enum(['operator', 'auditor']);
const newToken = z.strictObject({
  name: shortText,
  /** By default the one that can do less. */
  role: role.default('auditor'),
  expiresAt: instant.nullish(),
});
const tokenList = z.strictObject(page);

const tokenResponse = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role,
    prefix: z.string(),
    createdAt: at,
    createdBy: z.string(),
    createdById: signerId,
    expiresAt: at.nullable(),
    revokedAt: at.nullable(),
    lastUsedAt: at.nullable().meta({ description: 'At most a minute old; null: never.' }),
  })
  .meta({ id: 'AdminToken' });
const newTokenResponse = z.strictObject({ ...tokenResponse.shape, token: z.string() });

/** Named admin tokens: create (shown once), list, revoke (refused at once on every node). */
export function tokenEndpoints({
  adminTokens,
  clock,
  ids,
  fillRandom = randomFillSync,
}: TokenAdminParts): AdminEndpoint[] {
  async function read(id: string) {
    const token = await adminTokens.find(id);
    return token && tokenToWire(token);
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/tokens',
      status: 201,
      summary: 'Create a named admin token; its text is never shown again',
      body: newToken,
      response: newTokenResponse,
      async run({ body }, { actor }) {
        if (!mayGrantRole(actor, body.role)) {
          throw new GatewayError('roleNotAllowed', {
            message: `Only an operator may make a token of an ${body.role}.`,
          });
        }
        const now = new Date(clock.nowMs());
        const expiresAt = body.expiresAt ?? null;
        if (expiresAt !== null && expiresAt <= now) {
          throw unprocessable('expiresAt: The token would have expired already.', 'expiresAt');
        }
        const token = createAdminToken(fillRandom);
        const stored = await adminTokens.insert({
          id: ids.next('tok'),
          name: body.name,
          role: body.role,
          tokenHash: hashAdminToken(token),
          prefix: shownAdminToken(token),
          createdBy: signatureOf(actor),
          expiresAt,
          at: now,
        });
        if (stored === 'name_taken')
          throw conflict(`A token called ${JSON.stringify(body.name)} is in use. Revoke it first.`);
        if (stored === 'too_many') {
          throw conflict(
            `There are ${LIVING_TOKENS_MAX} tokens that are neither expired nor revoked; no more can be made.`,
          );
        }
        return { ...tokenToWire(stored), token };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/tokens',
      summary: 'List admin tokens, newest first, without their texts; that of the environment is none of them',
      query: tokenList,
      response: pageOf(tokenResponse),
      async run({ query }) {
        const found = await adminTokens.list(query.cursor ?? null, query.limit);
        return toPage(found, query.limit, tokenToWire, ({ id }) => id);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/tokens/:id',
      subject: { kind: 'token', read },
      status: 204,
      summary: 'Revoke an admin token',
      response: null,
      async run({ id }) {
        if (!(await adminTokens.revoke(id, new Date(clock.nowMs())))) throw notFound('token', id);
        return null;
      },
    }),
  ];
}

function tokenToWire(token: AdminToken): z.infer<typeof tokenResponse> {
  return {
    id: token.id,
    name: token.name,
    role: token.role,
    prefix: token.prefix,
    createdAt: token.createdAt.toISOString(),
    createdBy: token.createdBy,
    createdById: signerIdOf(token.createdBy),
    expiresAt: token.expiresAt?.toISOString() ?? null,
    revokedAt: token.revokedAt?.toISOString() ?? null,
    lastUsedAt: token.lastUsedAt?.toISOString() ?? null,
  };
}
