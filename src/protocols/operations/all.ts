import { chat } from './chat.ts';
import { compact } from './compact.ts';
import { completions } from './completions.ts';
import { embeddings } from './embeddings.ts';
import { imageEdit } from './image-edit.ts';
import { imageGeneration } from './image-generation.ts';
import { messages } from './messages.ts';
import type { JsonOperation, Operation } from './operation.ts';
import { rerank } from './rerank.ts';
import { responses } from './responses.ts';

export const operations = [
  chat,
  messages,
  responses,
  compact,
  completions,
  embeddings,
  rerank,
  imageGeneration,
  imageEdit,
] as const;

export type OperationName = (typeof operations)[number]['name'];

export const operationNames = operations.map(({ name }) => name);

/** Operations whose responses can be streams. */
export const streamedOperationNames = [
  'chat',
  'messages',
  'responses',
  'completions',
  'images.generate',
  'images.edit',
] as const satisfies readonly OperationName[];

const byName: ReadonlyMap<string, Operation> = new Map(operations.map((operation) => [operation.name, operation]));

export function findOperation(name: string): Operation | null {
  return byName.get(name) ?? null;
}

export function operationOf(name: OperationName): Operation {
  return byName.get(name)!;
}

export type JsonOperationName = Extract<(typeof operations)[number], JsonOperation>['name'];

const jsonByName: ReadonlyMap<string, JsonOperation> = new Map(
  operations.flatMap((operation) => ('read' in operation ? [[operation.name, operation] as const] : [])),
);

/** Returns the operation of this name. Worker threads call this. */
export function jsonOperationOf(name: string): JsonOperation {
  const operation = jsonByName.get(name);
  if (operation === undefined) throw new Error(`unknown JSON operation ${name}`);
  return operation;
}
