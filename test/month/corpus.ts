import { type Dialect, dialects } from '../dialects/dialects.ts';
import type { DrawnCall, Operation } from './vendor.ts';

/**
 * Calls from the corpus of dialects: real vendor responses, each with its bill, calculated by hand. No figure of a bill is read from a
 * response.
 */
const billable = dialects().filter(({ billNano }) => billNano !== null);

const OPERATIONS: Readonly<Record<string, Operation>> = {
  chat: 'chat',
  messages: 'messages',
  responses: 'responses',
  embeddings: 'embeddings',
  rerank: 'rerank',
  'images.generate': 'generate',
  'images.edit': 'edit',
};

/** One call for each case that is billed. */
export const corpusCalls: readonly DrawnCall[] = billable.map(({ name, isStream, request, bill, body, ...rest }) => ({
  operation: OPERATIONS[rest.operation ?? rest.protocol]!,
  model: name,
  isStream,
  request,
  response: {},
  body,
  bill: { model: name, lines: bill! },
}));

/** The cases whose record marks usage without a price. */
export const markedModels: readonly string[] = billable
  .filter(({ unpriced = [] }) => unpriced.length > 0)
  .map(({ name }) => name);

/** A model for each case with its prices, as a section of a configuration. */
export function corpusModels(): string {
  return billable.map((each) => `  ${JSON.stringify(each.name)}: ${JSON.stringify(modelOf(each))}\n`).join('');
}

function modelOf({ name, protocol, operation, prices }: Dialect): object {
  const isText = protocol === 'chat' || protocol === 'messages' || protocol === 'responses';
  return {
    operations: [operation ?? protocol],
    ...(isText && { contextLength: 200_000, maxOutputTokens: 8_192 }),
    price: prices,
    routes: [{ provider: protocol === 'messages' ? 'messy' : 'chatty', model: name }],
  };
}
