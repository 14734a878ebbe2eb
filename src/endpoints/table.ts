import type { Config } from '../config/schema.ts';
import { chat } from '../operations/chat.ts';
import { messages } from '../operations/messages.ts';
import { balance } from '../queries/balance.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Every public address, as section 4 of the contract lists them: routes, the answers to wrong methods and types, and the
 * operations of the catalog all come from here. A new address is a row and, where it does something new, one file in
 * `operations/` or `queries/`.
 */
export function endpointTable({ server }: Config): readonly Endpoint[] {
  const bodyLimitBytes = server.bodyLimit;
  const chatCall = { envelope: 'chat', credential: 'bearer', bodyLimitBytes } as const;
  const messagesCall = { envelope: 'messages', credential: 'bearer-or-x-api-key', bodyLimitBytes } as const;

  // biome-ignore format: a table reads best with one row a line
  return [
    { method: 'POST', path: '/v1/chat/completions', ...chatCall, context: 'balance', operation: chat, moneyStatus: 402 },
    { method: 'POST', path: '/v1/messages', ...messagesCall, context: 'balance', operation: messages, moneyStatus: 402 },
    { method: 'GET', path: '/v1/user/balance', envelope: 'chat', credential: 'bearer', query: balance },
    { method: 'GET', path: '/user/balance', envelope: 'chat', credential: 'bearer-or-x-api-key', query: balance },
  ];
}
