import type { GatewayError } from '../../errors/gateway-error.ts';

/** What providers say about the content of a request that they refuse. */

/** Words of providers for a context that is too long. Agents summarize their conversation when they read the words of their protocol. */
const CONTEXT_TOO_LONG =
  /prompt is too long|context.?(?:length|window)|maximum context|too many (?:input )?tokens|input (?:is |length |token count )?(?:too long|exceed)/i;

/** Statuses of requests that are too large. A 429 can speak of too many tokens, too, but of those of a minute. */
const isOfSize = (status: number): boolean => status === 400 || status === 413;

type Refused = Pick<GatewayError, 'status' | 'code' | 'type' | 'message'>;

export function isContextTooLong({ status, code, message }: Refused): boolean {
  return code === 'context_length_exceeded' || (isOfSize(status) && CONTEXT_TOO_LONG.test(message));
}

/** Codes and types of refusals by a content filter: OpenAI and Azure, Alibaba, Zhipu, and relays. */
const FILTER_CODES =
  /^(?:content_filter|content_policy_violation|moderation_blocked|ResponsibleAIPolicyViolation|data_?inspection_?failed|sensitive_words_detected|content_moderation|1301)$/i;

/** Messages of refusals by a content filter, of vendors without a code for it: Azure, Anthropic, DeepSeek, OpenAI. */
const FILTER_WORDS =
  /content (?:management|filter(?:ing)?|moderation|usage) (?:policy|policies)|content filter|content exists risk|(?:violates|violating|violation of) (?:our|the) (?:usage|content) (?:policy|policies)|\busage (?:policy|policies)\b|inappropriate content|flagged by .{0,40}moderation|safety system/i;

/** Whether a content filter refused the request: 400, 403 or 422. A filter that ends a response with status 200 is no refusal. */
export function isFiltered({ status, code, type, message }: Refused): boolean {
  if (status !== 400 && status !== 403 && status !== 422) return false;
  return FILTER_CODES.test(code) || (type !== undefined && FILTER_CODES.test(type)) || FILTER_WORDS.test(message);
}
