import type { JsonOperation } from '../call/operation.ts';
import { chat } from './chat.ts';
import { compact } from './compact.ts';
import { embeddings } from './embeddings.ts';
import { imageGeneration } from './image-generation.ts';
import { messages } from './messages.ts';
import { rerank } from './rerank.ts';
import { responses } from './responses.ts';

/** The operations with a JSON body by their names, by which another thread knows them. */
export const jsonOperations = {
  chat,
  messages,
  responses,
  compact,
  embeddings,
  rerank,
  'images.generate': imageGeneration,
} satisfies Record<string, JsonOperation>;

export type JsonOperationName = keyof typeof jsonOperations;
