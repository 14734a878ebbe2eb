import { messagesStreamError } from '../messages/errors.ts';
import { messagesPlanHeaders } from '../messages/plan-headers.ts';
import { messagesProtocol } from '../messages/protocol.ts';
import { messagesResponse } from '../messages/response.ts';
import { MESSAGES_TABLE } from '../messages/state-references.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { byTokens } from '../metering/charge-options.ts';
import { jsonOperation } from './json-operation.ts';

/** Messages (contract 4.1). Providers report usage in all responses and streams. */
export const messages = jsonOperation({
  name: 'messages',
  protocol: messagesProtocol,
  upstreamPath: '/v1/messages',
  streamError: messagesStreamError,
  planHeaders: messagesPlanHeaders,
  charge: [byTokens(['input', 'output'])],
  toolPrices: ['perWebSearch', 'perWebFetch', 'perCodeExecution', 'perContainer'],
  catalogEntry: { interfaceId: 'MESSAGES', operationId: 'MESSAGES_CREATE' },
  countedAs: 'messages',
  isAlwaysAwaited: false,
  reading: 'scans',
  hasSessions: true,
  signedMember: 'content',
  readRequest(fields, asked) {
    const model = fields.requiredText('model');
    fields.requireKind('messages', ['array']);
    fields.optionalWhole('max_tokens', 0);
    const named = asked.named(MESSAGES_TABLE);
    return {
      model,
      isStream: fields.optionalBoolean('stream') ?? false,
      named,
      details: { namesContainer: named.references.some(({ kind }) => kind === 'container') },
    };
  },
  response: ({ namesContainer }, { serverToolUses }) => messagesResponse(namesContainer, serverToolUses > 0),
  readStream: ({ namesContainer }, _basis, { serverToolUses }) =>
    readMessagesStream(namesContainer, serverToolUses > 0),
});
