import type { PublishedOperation } from '../catalog/public-catalog.ts';
import type { Config } from '../config/schema.ts';
import { chat } from '../operations/chat.ts';
import { messages } from '../operations/messages.ts';
import { balance } from '../queries/balance.ts';
import { messagesModelDetail, messagesModelList, modelDetail, modelList } from '../queries/models.ts';
import { publicModels } from '../queries/public-models.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Every public address, as section 4 of the contract lists them: routes, the answers to wrong methods and types, and the
 * operations of the catalog all come from here. A new address is a row and, where it does something new, one file in
 * `operations/` or `queries/`.
 */
export function endpointTable({ server }: Config): readonly Endpoint[] {
  const bodyLimitBytes = server.bodyLimit;
  const bearer = { envelope: 'chat', credential: 'bearer' } as const;
  const either = { envelope: 'messages', credential: 'bearer-or-x-api-key' } as const;

  // biome-ignore format: a table reads best with one row a line
  const rows: Endpoint[] = [
    { method: 'POST', path: '/v1/chat/completions', ...bearer, bodyLimitBytes, context: 'balance', operation: chat, moneyStatus: 402 },
    { method: 'POST', path: '/v1/messages', ...either, bodyLimitBytes, context: 'balance', operation: messages, moneyStatus: 402 },

    { method: 'GET', path: '/v1/public/models', envelope: 'catalog', credential: 'none', query: publicModels },
    { method: 'GET', path: '/v1/models', envelope: 'chat', credential: 'bearer-or-x-api-key', query: modelList },
    { method: 'GET', path: '/v1/models/:model', envelope: 'chat', credential: 'bearer-or-x-api-key', query: modelDetail },
    { method: 'GET', path: '/v1/user/balance', ...bearer, query: balance },
    { method: 'GET', path: '/user/balance', envelope: 'chat', credential: 'bearer-or-x-api-key', query: balance },
  ];
  for (const name of server.protocolNames.messages) {
    // biome-ignore format: as above
    rows.push(
      { method: 'GET', path: `/${name}/v1/models`, ...either, query: messagesModelList },
      { method: 'GET', path: `/${name}/v1/models/:model`, ...either, query: messagesModelDetail },
    );
  }
  return rows;
}

/** What the public catalog lists: the addresses that call a provider and draw on the balance. */
export function publishedOperations(table: readonly Endpoint[]): PublishedOperation[] {
  return table.flatMap((endpoint) =>
    'operation' in endpoint && endpoint.context === 'balance'
      ? [{ operation: endpoint.operation.name, method: endpoint.method, path: endpoint.path }]
      : [],
  );
}
