import type { AnswerEstimate, AnswerReading } from '../metering/answer.ts';
import { type AnswerText, answerTextTokens } from '../metering/answer-text.ts';
import { AnswerContinuationKeys } from './continuation-keys.ts';
import { NO_CONTAINERS } from './tool-uses.ts';
import { readResponsesUsage } from './usage.ts';

/** What the price depends on beside usage and output. */
const BILLED = ['service_tier', 'tool_usage'];

const TEXT: AnswerText = {
  text: ['text', 'refusal', 'arguments', 'input', 'code'],
  through: ['content', 'summary'],
};
/** Of a response that failed or has only been queued, nothing is known. */
const ENDED = [undefined, 'completed', 'incomplete'];

const ESTIMATE: AnswerEstimate = {
  keep: ['status'],
  count: [],
  outputTokens(answer) {
    const output = answer.member('output');
    const hasEnded = ENDED.some((status) => status === answer.member('status'));
    return hasEnded && Array.isArray(output) ? answerTextTokens(output, TEXT) : null;
  },
  members: ({ inputTokens, outputTokens }) => ({
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
  }),
};

/**
 * Whole responses of `POST /v1/responses`. They are billed by their usage, whatever their status says: an incomplete
 * response has one, a failed response has one where tokens were used up. Without usage the call fails closed, unless its
 * provider is configured otherwise; one that failed early or has only been queued always does.
 */
export const responsesAnswer = (keepsItems = true, containerUse = NO_CONTAINERS): AnswerReading => ({
  keep: ['id', 'object', 'usage', 'output', ...BILLED],
  count: [],
  usage(answer) {
    if (answer.member('object') !== 'response') return null;
    const response = Object.fromEntries(['output', ...BILLED].map((name) => [name, answer.member(name)]));
    return readResponsesUsage(answer.member('usage'), response, containerUse);
  },
  continuationKeys(answer) {
    const continuationKeys = new AnswerContinuationKeys(keepsItems);
    continuationKeys.addResponse(answer.member('id'));
    continuationKeys.addOutput(answer.member('output'));
    return continuationKeys.keys();
  },
  estimate: ESTIMATE,
});
