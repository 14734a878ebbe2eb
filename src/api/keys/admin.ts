import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { keyChange, keyList, newKey, replacement } from './key-body.ts';
import { createdKey, type KeyAdminDependencies, keyKeeper, replacementKey } from './key-keeper.ts';
import { keyResponse } from './wire.ts';

export function keyEndpoints(dependencies: KeyAdminDependencies): AdminEndpoint[] {
  const { accounts } = dependencies;
  const keys = keyKeeper(dependencies);

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/keys',
      subject: { kind: 'key', isMadeInAccount: true },
      status: 201,
      summary: 'Create an API key; its text is shown only once',
      body: newKey,
      response: createdKey,
      async run({ id, body }) {
        await requireAccount(accounts, id);
        return keys.create(id, body);
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/keys',
      summary: 'List the keys of an account',
      query: keyList,
      response: pageOf(keyResponse),
      async run({ id, query }) {
        await requireAccount(accounts, id);
        return keys.list(id, query);
      },
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/keys/:id',
      subject: keys.subject,
      summary:
        'Rename a key, or set its limits: budgets, daily calls, concurrency, requests and tokens per minute, models, client networks',
      body: keyChange,
      response: keyResponse,
      run: ({ id, body }) => keys.change(id, body),
    }),
    adminEndpoint({
      method: 'POST',
      path: '/keys/:id/replacement',
      subject: keys.subject,
      status: 201,
      summary: 'Replace a key with a new one with the same rights; the old key can stay valid for a chosen time',
      body: replacement,
      response: replacementKey,
      run: ({ id, body }) => keys.replace(id, body),
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/keys/:id',
      subject: keys.subject,
      summary: 'Revoke a key',
      run: ({ id }) => keys.revoke(id),
    }),
  ];
}
