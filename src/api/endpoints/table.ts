import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from '../../calls/call-request.ts';
import type { Config } from '../../config/schema.ts';
import { catalogEnvelope, type Envelope } from '../../errors/envelopes.ts';
import { cohereEnvelope, usageEnvelope } from '../../protocols/chat/errors.ts';
import { chatProtocol } from '../../protocols/chat/protocol.ts';
import { messagesProtocol } from '../../protocols/messages/protocol.ts';
import { chat } from '../../protocols/operations/chat.ts';
import { compact } from '../../protocols/operations/compact.ts';
import { completions } from '../../protocols/operations/completions.ts';
import { countTokens } from '../../protocols/operations/count-tokens.ts';
import { embeddings } from '../../protocols/operations/embeddings.ts';
import { imageEdit } from '../../protocols/operations/image-edit.ts';
import { imageGeneration } from '../../protocols/operations/image-generation.ts';
import { inputTokens } from '../../protocols/operations/input-tokens.ts';
import { messages } from '../../protocols/operations/messages.ts';
import { rerank } from '../../protocols/operations/rerank.ts';
import { responses } from '../../protocols/operations/responses.ts';
import { responsesEnvelope } from '../../protocols/responses/errors.ts';
import type { PublishedOperation } from '../../providers/catalog/public-catalog.ts';
import { balance, billingSubscription, billingUsage } from '../queries/balance.ts';
import { codingBalance } from '../queries/coding-balance.ts';
import { isMessagesClient } from '../queries/messages-client.ts';
import {
  codingMessagesModelDetail,
  codingMessagesModelList,
  codingModelDetail,
  codingModelList,
  messagesModelDetail,
  messagesModelList,
  modelDetail,
  modelList,
} from '../queries/models.ts';
import { publicModels } from '../queries/public-models.ts';
import type { CallEndpoint, Endpoint, EstimateEndpoint, QueryEndpoint } from './endpoint.ts';

/**
 * Returns every public address (contract 4). Each base address has all paths that SDKs, agents and balance readers append to it (contract
 * 2.1, 4.11). `{name}` stands for each configured name of the messages protocol. `docs/recipes.md` explains how to add an endpoint.
 */
export function endpointTable({ server }: Config): readonly Endpoint[] {
  const { bodyLimit, editBodyLimit, messagesContext, protocolNames } = server;
  const [balanceOf, coding] = ['balance', 'coding'] as const;
  const shared = sharedBy(protocolNames.messages);

  // Addresses below the base addresses of chat-style clients, /v1 and /v1/coding, and below the root, that of messages-style clients.
  // biome-ignore format: a table reads best with one row a line
  const rows: Endpoint[] = [
    call('/v1/chat/completions', CHAT, chat, balanceOf, 402, bodyLimit),
    call('/v1/completions', CHAT, completions, balanceOf, 402, bodyLimit),
    call('/v1/embeddings', CHAT, embeddings, balanceOf, 402, bodyLimit),
    call('/v1/rerank', CHAT, rerank, balanceOf, 402, bodyLimit),
    call('/v2/rerank', COHERE, rerank, balanceOf, 402, bodyLimit),
    call('/v1/responses', RESPONSES, responses, balanceOf, 402, bodyLimit),
    call('/v1/responses/compact', CHAT, compact, balanceOf, 429, bodyLimit),
    call('/v1/images/generations', CHAT, imageGeneration, balanceOf, 429, bodyLimit),
    call('/v1/images/edits', CHAT, imageEdit, balanceOf, 429, editBodyLimit),
    call('/v1/messages', MESSAGES, messages, balanceOf, 402, bodyLimit),
    call('/v1/coding/chat/completions', CHAT, chat, coding, 402, bodyLimit),
    call('/v1/coding/completions', CHAT, completions, coding, 402, bodyLimit),
    call('/v1/coding/responses', RESPONSES, responses, coding, 402, bodyLimit),
    call('/v1/coding/responses/compact', CHAT, compact, coding, 429, bodyLimit),

    estimate('/v1/responses/input_tokens', CHAT, inputTokens, balanceOf, bodyLimit),
    estimate('/v1/messages/count_tokens', MESSAGES, countTokens, balanceOf, bodyLimit),
    estimate('/v1/coding/responses/input_tokens', CHAT, inputTokens, coding, bodyLimit),

    { method: 'GET', path: '/v1/public/models', envelope: catalogEnvelope, credential: 'none', query: publicModels },
    query('/v1/models', shared, modelList),
    query('/v1/models/:model', shared, modelDetail),
    query('/v1/user/balance', USAGE, balance),
    query('/v1/dashboard/billing/subscription', CHAT, billingSubscription),
    query('/v1/dashboard/billing/usage', CHAT, billingUsage),
    query('/user/balance', USAGE_MESSAGES, balance),
    query('/v1/coding/models', shared, codingModelList),
    query('/v1/coding/models/:model', shared, codingModelDetail),
    query('/v1/coding/user/balance', USAGE, codingBalance),
  ];
  for (const name of protocolNames.messages) {
    // Messages clients append /v1/messages or /messages, so /{name} and /{name}/v1 are both base addresses.
    // biome-ignore format: as above
    rows.push(
      call(`/${name}/v1/messages`, MESSAGES, messages, messagesContext, 402, bodyLimit),
      call(`/${name}/coding/v1/messages`, MESSAGES, messages, coding, 402, bodyLimit),
      call(`/v1/coding/${name}/messages`, MESSAGES, messages, coding, 402, bodyLimit),

      estimate(`/${name}/v1/messages/count_tokens`, MESSAGES, countTokens, coding, bodyLimit),
      estimate(`/${name}/coding/v1/messages/count_tokens`, MESSAGES, countTokens, coding, bodyLimit),
      estimate(`/v1/coding/${name}/messages/count_tokens`, MESSAGES, countTokens, coding, bodyLimit),

      query(`/${name}/v1/models`, MESSAGES, messagesModelList),
      query(`/${name}/v1/models/:model`, MESSAGES, messagesModelDetail),
      query(`/${name}/coding/v1/models`, MESSAGES, codingMessagesModelList),
      query(`/${name}/coding/v1/models/:model`, MESSAGES, codingMessagesModelDetail),
      query(`/v1/coding/${name}/models`, MESSAGES, codingMessagesModelList),

      query(`/${name}/user/balance`, USAGE_MESSAGES, codingBalance),
      query(`/${name}/v1/user/balance`, USAGE_MESSAGES, codingBalance),
      query(`/${name}/coding/user/balance`, USAGE_MESSAGES, codingBalance),
      query(`/${name}/coding/v1/user/balance`, USAGE_MESSAGES, codingBalance),
      query(`/v1/coding/${name}/user/balance`, USAGE_MESSAGES, codingBalance),
    );
  }
  return rows;
}

/** What a family of addresses has in common: its error format and the credentials that it accepts (contract 5, 7). */
type Family = Pick<CallEndpoint, 'envelope' | 'credential'>;
const CHAT: Family = chatProtocol;
const RESPONSES: Family = { ...CHAT, envelope: responsesEnvelope };
const MESSAGES: Family = messagesProtocol;
/** The model list has one address for both families. Its errors have the format of the client's family. */
function sharedBy(messagesNames: readonly string[]): Family {
  const forClient = (headers: IncomingHttpHeaders): Envelope =>
    isMessagesClient(headers, messagesNames) ? MESSAGES.envelope : CHAT.envelope;
  return { envelope: { ...CHAT.envelope, forClient }, credential: MESSAGES.credential };
}
/** Clients of Cohere append a version of their own to the base address, and expect an error format of their own. */
const COHERE: Family = { envelope: cohereEnvelope, credential: CHAT.credential };
const USAGE: Family = { envelope: usageEnvelope, credential: CHAT.credential };
const USAGE_MESSAGES: Family = { envelope: usageEnvelope, credential: MESSAGES.credential };

function call(
  path: string,
  { envelope, credential }: Family,
  operation: CallEndpoint['operation'],
  context: Context,
  moneyStatus: CallEndpoint['moneyStatus'],
  bodyLimitBytes: number,
): CallEndpoint {
  return { method: 'POST', path, envelope, credential, operation, context, moneyStatus, bodyLimitBytes };
}

function estimate(
  path: string,
  { envelope, credential }: Family,
  descriptor: EstimateEndpoint['estimate'],
  context: Context,
  bodyLimitBytes: number,
): EstimateEndpoint {
  return { method: 'POST', path, envelope, credential, estimate: descriptor, context, bodyLimitBytes };
}

function query(path: string, { envelope, credential }: Family, descriptor: QueryEndpoint['query']): QueryEndpoint {
  return { method: 'GET', path, envelope, credential, query: descriptor };
}

/** Returns the operations in the public catalog: those that call a provider and are charged to the balance. */
export function publishedOperations(table: readonly Endpoint[]): PublishedOperation[] {
  const published = new Map<string, PublishedOperation>();
  for (const endpoint of table) {
    if (!('operation' in endpoint) || endpoint.context !== 'balance') continue;
    const { operation, method, path } = endpoint;
    // If an operation has several addresses, the first one is listed.
    if (!published.has(operation.name)) published.set(operation.name, { operation, method, path });
  }
  return [...published.values()];
}
