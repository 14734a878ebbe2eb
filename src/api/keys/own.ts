import type { ApiKey } from '../../accounting/accounts/api-key-store.ts';
import type { OwnKeysLimit } from '../../accounting/accounts/key-owner-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { AccountScope } from '../../people/access.ts';
import { orNotFound } from '../management/endpoint.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { keyChange, keyList, newKey, replacement } from './key-body.ts';
import { createdKey, type KeyAdminDependencies, keyKeeper, replacementKey } from './key-keeper.ts';
import { keyResponse, LIMIT_MEMBERS } from './wire.ts';

export const MEMBER_KEYS_MAX = 20;

const members = {
  id: true,
  accountId: true,
  name: true,
  prefix: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
  lastUsedAt: true,
  ...LIMIT_MEMBERS,
  modelBudgets: true,
  allowedModels: true,
  allowedNetworks: true,
  scopes: true,
  userId: true,
  formerUserName: true,
  requestsPerMinute: true,
  tokensPerMinute: true,
  modelLimits: true,
} as const;

const ownKey = keyResponse.pick({ ...members, used: true, usedByModel: true }).meta({ id: 'OwnKey' });
const ownCreatedKey = createdKey.pick({ ...members, key: true }).meta({ id: 'OwnCreatedKey' });
const ownReplacementKey = replacementKey
  .pick({ ...members, key: true, replaces: true })
  .meta({ id: 'OwnReplacementKey' });

/** Endpoints for keys. Members manage their own ones. Owners manage all keys of the account, and only owners set limits. */
export function ownKeyEndpoints(dependencies: KeyAdminDependencies): AccountEndpoint[] {
  const { accounts } = dependencies;
  const keys = keyKeeper(dependencies);

  return [
    accountEndpoint({
      method: 'GET',
      path: '/keys',
      summary: 'List the keys of the account; members see their own',
      needs: 'member',
      query: keyList,
      response: pageOf(ownKey),
      async run({ query }, { scope: { accountId, ownUserId } }) {
        const userId = ownUserId ?? query.userId;
        // The list is empty, because members must not learn about keys of others.
        if (query.userId !== undefined && query.userId !== userId) return { data: [], nextCursor: null };
        return shownPage(ownKey, await keys.list(accountId, { ...query, userId }));
      },
    }),
    accountEndpoint({
      method: 'POST',
      path: '/keys',
      status: 201,
      summary: 'Create an API key; its text is shown only once',
      needs: 'member',
      body: newKey,
      response: ownCreatedKey,
      async run({ body }, { scope }) {
        const { accountId, ownUserId } = scope;
        if (ownUserId === null) return shown(ownCreatedKey, await keys.create(accountId, body));
        if (body.userId != null && body.userId !== ownUserId) {
          throw invalidRequest('userId: Members create keys only for themselves.', 'userId');
        }
        const made = await keys.create(accountId, { ...body, userId: ownUserId }, ownKeysLimit(scope));
        return shown(ownCreatedKey, made);
      },
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/keys/:id',
      subject: keys.subject,
      resource: 'key',
      summary: 'Rename a key, or set its limits',
      needs: 'owner',
      body: keyChange,
      response: ownKey,
      run: async ({ id, body }) => shown(ownKey, await keys.change(id, body)),
    }),
    accountEndpoint({
      method: 'POST',
      path: '/keys/:id/replacement',
      subject: keys.subject,
      resource: 'key',
      status: 201,
      summary: 'Replace a key with a new one with the same rights; the old key can stay valid for a chosen time',
      needs: 'member',
      body: replacement,
      response: ownReplacementKey,
      async run({ id, body }, { scope }) {
        const key = orNotFound(await accounts.findKey(id), 'key', id);
        const asked = scope.ownUserId === null ? body : { ...body, expiresAt: earlierEnd(key, body.expiresAt) };
        return shown(ownReplacementKey, await keys.replace(id, asked, ownKeysLimit(scope)));
      },
    }),
    accountEndpoint({
      method: 'DELETE',
      path: '/keys/:id',
      subject: keys.subject,
      resource: 'key',
      summary: 'Revoke a key',
      needs: 'member',
      run: ({ id }) => keys.revoke(id),
    }),
  ];
}

function ownKeysLimit({ ownUserId }: AccountScope): OwnKeysLimit | undefined {
  return ownUserId === null ? undefined : { userId: ownUserId, keysMax: MEMBER_KEYS_MAX };
}

/** Returns when a replacement key of a member expires: never later than the replaced key. */
function earlierEnd({ expiresAt }: ApiKey, asked: Date | null | undefined): Date | null {
  if (expiresAt === null || asked == null) return expiresAt ?? asked ?? null;
  return asked < expiresAt ? asked : expiresAt;
}
