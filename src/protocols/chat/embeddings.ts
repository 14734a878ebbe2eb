import { answerReading } from '../metering/answer.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { firstCount, PASS_THROUGH_MEMBERS } from './token-counts.ts';

/** Responses of embeddings, and of the vendors that count in a shape of their own. */
export const embeddingsAnswer = answerReading(PASS_THROUGH_MEMBERS, (answer) => {
  const inputTokens = firstCount(answer, [
    [['usage', 'prompt_tokens']],
    [['usage', 'total_tokens']],
    [['meta', 'billed_units', 'input_tokens']],
    [['meta', 'tokens', 'input_tokens']],
    [['tokens', 'input_tokens']],
  ]);
  return inputTokens === null ? null : { ...noUsage, inputTokens };
});
