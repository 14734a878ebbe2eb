import type { ReadResponse } from '../../protocols/metering/response.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { Attempt } from './attempt.ts';

/**
 * The estimate of a whole response whose provider reported no usage, up to what was reserved. Its other facts, such as
 * uses of tools, are read as if the provider had reported the estimated tokens. `null` where such a response is not charged.
 */
export async function estimateUnreported(
  response: ReadResponse,
  { call, estimates }: Pick<Attempt, 'call' | 'estimates'>,
): Promise<UsageFacts | null> {
  const { input, basis } = call;
  const { estimate } = input.response;
  const outputTokens = estimate?.outputTokens(response) ?? null;
  if (estimate === undefined || outputTokens === null) return null;
  const inputTokens = await estimates.inputTokens();
  const { audioOutputTokens, imageOutputTokens } = estimate.mediaTokens?.(response) ?? NO_MEDIA;
  const { searchUnits } = input.demand;
  const members = estimate.members({ inputTokens, outputTokens, audioOutputTokens, imageOutputTokens, searchUnits });
  const usage = input.response.usage(
    { member: (name) => members[name] ?? response.member(name), count: (name) => response.count(name) },
    basis,
  );
  return usage === null
    ? null
    : estimates.bound({ ...usage, source: 'estimated' }, { reported: null, delivered: usage });
}

const NO_MEDIA = { audioOutputTokens: 0, imageOutputTokens: 0 };
