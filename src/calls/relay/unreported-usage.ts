import type { Answer } from '../../protocols/metering/answer.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { Attempt } from './attempt.ts';

/**
 * The estimate of a whole response whose provider reported no usage, up to what was reserved. Its other facts, such as
 * uses of tools, are read as if the provider had reported the estimated tokens. `null` where such a response is not charged.
 */
export async function estimateUnreported(
  answer: Answer,
  { call, estimates }: Pick<Attempt, 'call' | 'estimates'>,
): Promise<UsageFacts | null> {
  const { input, basis } = call;
  const { estimate } = input.answer;
  const outputTokens = estimate?.outputTokens(answer) ?? null;
  if (estimate === undefined || outputTokens === null) return null;
  const inputTokens = await estimates.inputTokens();
  const { audioOutputTokens, imageOutputTokens } = estimate.mediaTokens?.(answer) ?? NO_MEDIA;
  const { searchUnits } = input.demand;
  const members = estimate.members({ inputTokens, outputTokens, audioOutputTokens, imageOutputTokens, searchUnits });
  const usage = input.answer.usage(
    { member: (name) => members[name] ?? answer.member(name), count: (name) => answer.count(name) },
    basis,
  );
  return usage === null
    ? null
    : estimates.bound({ ...usage, source: 'estimated' }, { reported: null, delivered: usage });
}

const NO_MEDIA = { audioOutputTokens: 0, imageOutputTokens: 0 };
