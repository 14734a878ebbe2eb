import type { Protocol } from '../protocol.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';
import { chatEnvelope } from './errors.ts';
import { chatRateHeaders } from './rate-headers.ts';

export const chatProtocol: Protocol<'chat'> = {
  name: 'chat',
  envelope: chatEnvelope,
  credential: 'bearer',
  defaultMounts: ['compat'],
  providerAuth: 'bearer',
  defaultVersion: null,
  appendedPath: { path: '/chat/completions', repeated: /\/chat\/completions\/*$/ },
  rateHeaders: chatRateHeaders,
  imageTokens: BUDGETS.image.tokens,
};
