import type { Protocol } from '../protocol.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';
import { messagesEnvelope } from './errors.ts';

/** The messages family. */
export const messagesProtocol: Protocol<'messages'> = {
  name: 'messages',
  envelope: messagesEnvelope,
  credential: 'bearer-or-x-api-key',
  defaultMounts: ['altproto'],
  providerAuth: 'x-api-key',
  defaultVersion: '2023-06-01',
  appendedPath: { path: '/v1/messages', repeated: /\/v1(\/messages)?\/*$/ },
  imageTokens: BUDGETS.imageMessages.tokens,
};
