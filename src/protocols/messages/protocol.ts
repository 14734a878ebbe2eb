import type { Protocol } from '../protocol.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';
import { messagesEnvelope } from './errors.ts';
import { messagesRateHeaders } from './rate-headers.ts';

export const messagesProtocol: Protocol<'messages'> = {
  name: 'messages',
  envelope: messagesEnvelope,
  credential: 'bearer-or-x-api-key',
  defaultMounts: ['altproto'],
  providerAuth: 'x-api-key',
  defaultVersion: '2023-06-01',
  appendedPath: { path: '/v1/messages', repeated: /\/v1(\/messages)?\/*$/ },
  rateHeaders: messagesRateHeaders,
  imageTokens: BUDGETS.imageMessages.tokens,
};
