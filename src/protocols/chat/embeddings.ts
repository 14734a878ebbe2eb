import { type ReadResponse, type ResponseReading, responseReading } from '../metering/response.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { firstCount, PASS_THROUGH_MEMBERS } from './token-counts.ts';

const reading = responseReading(PASS_THROUGH_MEMBERS, (response) => {
  const inputTokens = firstCount(response, [
    [['usage', 'prompt_tokens']],
    [['usage', 'total_tokens']],
    [['usage', 'input_tokens']],
    [['meta', 'billed_units', 'input_tokens']],
    [['meta', 'tokens', 'input_tokens']],
    [['tokens', 'input_tokens']],
  ]);
  return inputTokens === null ? null : { ...noUsage, inputTokens };
});

/** How Cohere returns embeddings: lists by type, as in `{"embeddings":{"float":[[…]]}}`. */
const BY_TYPE = { outer: { embeddings: ['embeddings'] }, places: [], items: { embeddings: [] } };

const hasEmbeddings = (response: ReadResponse): boolean =>
  (response.count('data') ?? 0) + response.holding('embeddings') > 0;

export const embeddingsResponse: ResponseReading = {
  ...reading,
  count: ['data'],
  holding: BY_TYPE,
  hasResults: hasEmbeddings,
  estimate: {
    keep: [],
    count: [],
    isSuccess: hasEmbeddings,
    members: ({ inputTokens }) => ({ usage: { prompt_tokens: inputTokens } }),
  },
};
