import type { z } from 'zod';
import type { OperationName } from '../../../protocols/operations/all.ts';
import {
  chatRequest,
  chatResponse,
  completionRequest,
  completionResponse,
  embeddingsRequest,
  embeddingsResponse,
  rerankRequest,
  rerankResponse,
} from './chat.ts';
import { imageEditRequest, imageGenerationRequest, imagesResponse } from './images.ts';
import { countTokensRequest, countTokensResponse, messagesRequest, messagesResponse } from './messages.ts';
import {
  compactRequest,
  compactResponse,
  inputTokensRequest,
  inputTokensResponse,
  responsesRequest,
  responsesResponse,
} from './responses.ts';

/** What the OpenAPI document says of a POST endpoint. Only tests validate with these schemas; the gateway does not. */
export interface PostDocument {
  readonly summary: string;
  readonly tag: PublicTag;
  readonly request: z.ZodType;
  readonly requestType: 'application/json' | 'multipart/form-data';
  readonly response: z.ZodType;
  /** Schema of the events; `null` if the operation has no streams. */
  readonly events: string | null;
}

type PublicTag = 'Chat' | 'Messages' | 'Responses' | 'Images' | 'Embeddings and rerank' | 'Models' | 'Balance';

const json = 'application/json';
const AS_PROVIDER = 'Events as the provider sends them; the last ones carry the usage.';

export const callDocuments: Readonly<Record<OperationName, PostDocument>> = {
  chat: {
    summary: 'Complete a chat',
    tag: 'Chat',
    request: chatRequest,
    requestType: json,
    response: chatResponse,
    events: `${AS_PROVIDER} It ends with \`data: [DONE]\`.`,
  },
  messages: {
    summary: 'Create a message',
    tag: 'Messages',
    request: messagesRequest,
    requestType: json,
    response: messagesResponse,
    events: `${AS_PROVIDER} It ends with the event \`message_stop\`.`,
  },
  responses: {
    summary: 'Create a response',
    tag: 'Responses',
    request: responsesRequest,
    requestType: json,
    response: responsesResponse,
    events: `${AS_PROVIDER} It ends with the event \`response.completed\`, \`response.incomplete\` or \`response.failed\`.`,
  },
  compact: {
    summary: 'Compact a conversation',
    tag: 'Responses',
    request: compactRequest,
    requestType: json,
    response: compactResponse,
    events: null,
  },
  completions: {
    summary: 'Complete a text',
    tag: 'Chat',
    request: completionRequest,
    requestType: json,
    response: completionResponse,
    events: `${AS_PROVIDER} It ends with \`data: [DONE]\`.`,
  },
  embeddings: {
    summary: 'Embed texts',
    tag: 'Embeddings and rerank',
    request: embeddingsRequest,
    requestType: json,
    response: embeddingsResponse,
    events: null,
  },
  rerank: {
    summary: 'Order documents by how well they match a query',
    tag: 'Embeddings and rerank',
    request: rerankRequest,
    requestType: json,
    response: rerankResponse,
    events: null,
  },
  'images.generate': {
    summary: 'Create images from a prompt',
    tag: 'Images',
    request: imageGenerationRequest,
    requestType: json,
    response: imagesResponse,
    events: 'Events `image_generation.partial_image`, and at the end `image_generation.completed` or `error`.',
  },
  'images.edit': {
    summary: 'Edit images with a prompt',
    tag: 'Images',
    request: imageEditRequest,
    requestType: 'multipart/form-data',
    response: imagesResponse,
    events: 'Events `image_edit.partial_image`, and at the end `image_edit.completed` or `error`.',
  },
};

export const estimateDocuments: Readonly<Record<'messages' | 'responses', PostDocument>> = {
  messages: {
    summary: 'Estimate the input tokens of a message',
    tag: 'Messages',
    request: countTokensRequest,
    requestType: json,
    response: countTokensResponse,
    events: null,
  },
  responses: {
    summary: 'Estimate the input tokens of a response',
    tag: 'Responses',
    request: inputTokensRequest,
    requestType: json,
    response: inputTokensResponse,
    events: null,
  },
};
