import type { ResponseEstimate, ResponseReading } from '../metering/response.ts';
import { ResponseContinuationKeys } from './continuation-keys.ts';
import { type ResponsesUsageContext, readResponsesUsage } from './usage.ts';
import { RESPONSE_TEXT } from './written.ts';

const BILLED = ['service_tier', 'tool_usage', 'server_side_tool_usage'];

/** Statuses of responses whose usage can be estimated; `undefined`: a response without a status. */
const ENDED = [undefined, 'completed', 'incomplete'];

const ESTIMATE: ResponseEstimate = {
  keep: ['status'],
  count: [],
  isSuccess(received) {
    const hasEnded = ENDED.some((status) => status === received.member('status'));
    return hasEnded && Array.isArray(received.member('output'));
  },
  members: ({ inputTokens, outputTokens }) => ({
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
  }),
};

/** Reads responses. They are charged by their usage, whatever their status. */
export const responsesResponse = (keepsItems = true, context: ResponsesUsageContext = {}): ResponseReading => ({
  keep: ['id', 'object', 'usage', 'output', ...BILLED],
  count: [],
  usage(received) {
    if (received.member('object') !== 'response') return null;
    const response: Record<string, unknown> = { output: received.member('output') };
    for (const name of BILLED) response[name] = received.member(name);
    return readResponsesUsage(received.member('usage'), response, context);
  },
  continuationKeys(received) {
    const continuationKeys = new ResponseContinuationKeys(keepsItems);
    continuationKeys.addResponse(received.member('id'));
    continuationKeys.addOutput(received.member('output'));
    return continuationKeys.keys();
  },
  written: RESPONSE_TEXT,
  estimate: ESTIMATE,
});
