import type { AnswerReading } from '../metering/answer.ts';
import { AnswerContinuationKeys } from './continuation-keys.ts';
import { readResponsesUsage } from './usage.ts';

/**
 * Whole responses of `POST /v1/responses`. They are billed by their usage, whatever their status says: an incomplete
 * response has one, a failed response has one where tokens were used up. Without usage nothing can be charged, so the
 * call fails closed; that includes a response that failed early or has only been queued.
 */
export const responsesAnswer = (keepsItems = true): AnswerReading => ({
  keep: ['id', 'object', 'usage', 'output'],
  count: [],
  usage: (answer) =>
    answer.member('object') === 'response' ? readResponsesUsage(answer.member('usage'), answer.member('output')) : null,
  continuationKeys(answer) {
    const continuationKeys = new AnswerContinuationKeys(keepsItems);
    continuationKeys.addResponse(answer.member('id'));
    continuationKeys.addOutput(answer.member('output'));
    return continuationKeys.keys();
  },
});
