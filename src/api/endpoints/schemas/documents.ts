import type { z } from 'zod';
import type { OperationName } from '../../../protocols/operations/all.ts';
import { chatAnswer, chatRequest, embeddingsAnswer, embeddingsRequest, rerankAnswer, rerankRequest } from './chat.ts';
import { imageEditRequest, imageGenerationRequest, imagesAnswer } from './images.ts';
import { countTokensAnswer, countTokensRequest, messagesAnswer, messagesRequest } from './messages.ts';
import {
  compactAnswer,
  compactRequest,
  inputTokensAnswer,
  inputTokensRequest,
  responsesAnswer,
  responsesRequest,
} from './responses.ts';

/** What a call or an estimate takes and answers, for its documentation. Nothing is checked by it but tests. */
export interface PostDocument {
  readonly summary: string;
  readonly tag: PublicTag;
  readonly request: z.ZodType;
  readonly requestType: 'application/json' | 'multipart/form-data';
  readonly answer: z.ZodType;
  /** The events of its stream; `null`: it has none. */
  readonly events: string | null;
}

export type PublicTag = 'Chat' | 'Messages' | 'Responses' | 'Images' | 'Embeddings and rerank' | 'Models' | 'Balance';

const json = 'application/json';
const AS_PROVIDER = 'Events as the provider sends them; the last ones carry the usage.';

/** Of every kind of call. */
export const callDocuments: Readonly<Record<OperationName, PostDocument>> = {
  chat: {
    summary: 'Complete a chat',
    tag: 'Chat',
    request: chatRequest,
    requestType: json,
    answer: chatAnswer,
    events: `${AS_PROVIDER} It ends with \`data: [DONE]\`.`,
  },
  messages: {
    summary: 'Create a message',
    tag: 'Messages',
    request: messagesRequest,
    requestType: json,
    answer: messagesAnswer,
    events: `${AS_PROVIDER} It ends with the event \`message_stop\`.`,
  },
  responses: {
    summary: 'Create a response',
    tag: 'Responses',
    request: responsesRequest,
    requestType: json,
    answer: responsesAnswer,
    events: `${AS_PROVIDER} It ends with the event \`response.completed\`, \`response.incomplete\` or \`response.failed\`.`,
  },
  compact: {
    summary: 'Compact a conversation',
    tag: 'Responses',
    request: compactRequest,
    requestType: json,
    answer: compactAnswer,
    events: null,
  },
  embeddings: {
    summary: 'Embed texts',
    tag: 'Embeddings and rerank',
    request: embeddingsRequest,
    requestType: json,
    answer: embeddingsAnswer,
    events: null,
  },
  rerank: {
    summary: 'Order documents by how well they match a query',
    tag: 'Embeddings and rerank',
    request: rerankRequest,
    requestType: json,
    answer: rerankAnswer,
    events: null,
  },
  'images.generate': {
    summary: 'Make images from a prompt',
    tag: 'Images',
    request: imageGenerationRequest,
    requestType: json,
    answer: imagesAnswer,
    events: 'Events `image_generation.partial_image`, and at the end `image_generation.completed` or `error`.',
  },
  'images.edit': {
    summary: 'Change images by a prompt',
    tag: 'Images',
    request: imageEditRequest,
    requestType: 'multipart/form-data',
    answer: imagesAnswer,
    events: 'Events `image_edit.partial_image`, and at the end `image_edit.completed` or `error`.',
  },
};

/** Of every kind of estimate, by the wire format of its request. */
export const estimateDocuments: Readonly<Record<'messages' | 'responses', PostDocument>> = {
  messages: {
    summary: 'Estimate the input tokens of a message',
    tag: 'Messages',
    request: countTokensRequest,
    requestType: json,
    answer: countTokensAnswer,
    events: null,
  },
  responses: {
    summary: 'Estimate the input tokens of a response',
    tag: 'Responses',
    request: inputTokensRequest,
    requestType: json,
    answer: inputTokensAnswer,
    events: null,
  },
};
