import { CHAT_TABLE } from '../../src/protocols/chat/state-references.ts';
import { MESSAGES_TABLE } from '../../src/protocols/messages/state-references.ts';
import type { JsonOperationName } from '../../src/protocols/operations/all.ts';
import { PLAIN_TABLE } from '../../src/protocols/plain-references.ts';
import type { RequestTable } from '../../src/protocols/request-reader.ts';
import { RESPONSES_TABLE } from '../../src/protocols/responses/state-references.ts';

/** The table that describes requests of an operation. */
export const REQUEST_TABLES: Readonly<Record<JsonOperationName, RequestTable>> = {
  chat: CHAT_TABLE,
  messages: MESSAGES_TABLE,
  responses: RESPONSES_TABLE,
  compact: RESPONSES_TABLE,
  completions: PLAIN_TABLE,
  embeddings: PLAIN_TABLE,
  rerank: PLAIN_TABLE,
  'images.generate': PLAIN_TABLE,
};
