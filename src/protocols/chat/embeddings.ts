import { type AnswerReading, answerReading } from '../metering/answer.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { firstCount, PASS_THROUGH_MEMBERS } from './token-counts.ts';

const reading = answerReading(PASS_THROUGH_MEMBERS, (answer) => {
  const inputTokens = firstCount(answer, [
    [['usage', 'prompt_tokens']],
    [['usage', 'total_tokens']],
    [['meta', 'billed_units', 'input_tokens']],
    [['meta', 'tokens', 'input_tokens']],
    [['tokens', 'input_tokens']],
  ]);
  return inputTokens === null ? null : { ...noUsage, inputTokens };
});

/** Responses of embeddings, and of the vendors that count in a shape of their own. */
export const embeddingsAnswer: AnswerReading = {
  ...reading,
  estimate: {
    keep: [],
    count: ['data', 'embeddings'],
    outputTokens: (answer) => (answer.count('data') || answer.count('embeddings') ? 0 : null),
    members: ({ inputTokens }) => ({ usage: { prompt_tokens: inputTokens } }),
  },
};
