import { type ResponseReading, responseReading } from '../metering/response.ts';
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

/** Responses of embeddings, and of the vendors that count in a shape of their own. */
export const embeddingsResponse: ResponseReading = {
  ...reading,
  estimate: {
    keep: [],
    count: ['data', 'embeddings'],
    outputTokens: (response) => (response.count('data') || response.count('embeddings') ? 0 : null),
    members: ({ inputTokens }) => ({ usage: { prompt_tokens: inputTokens } }),
  },
};
