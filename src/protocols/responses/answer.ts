import type { AnswerReading } from '../metering/answer.ts';
import { AnswerContinuationKeys } from './continuation-keys.ts';
import { NO_CONTAINERS } from './tool-uses.ts';
import { readResponsesUsage } from './usage.ts';

/** What the price depends on beside usage and output. */
const BILLED = ['service_tier', 'tool_usage'];

/**
 * Whole responses of `POST /v1/responses`. They are billed by their usage, whatever their status says: an incomplete
 * response has one, a failed response has one where tokens were used up. Without usage nothing can be charged, so the
 * call fails closed; that includes a response that failed early or has only been queued.
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
});
