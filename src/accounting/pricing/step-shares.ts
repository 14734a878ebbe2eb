import { inputTokensOf, noUsage, totalTokens } from '../../protocols/metering/usage-facts.ts';
import { type UnitCounts, withTokens } from '../../protocols/metering/usage-units.ts';
import { type PriceSteps, stepFor } from './token-rates.ts';

/** The tokens of a call that have the prices of one step of its list. */
export interface StepShare {
  /** `null`: the prices for inputs that exceed no step. */
  readonly above: string | null;
  /** How many runs of the model have these prices. */
  readonly runs: number;
  /** Their tokens. */
  readonly counts: UnitCounts;
}

/**
 * Chooses the step of each run by the length of its own input: vendors bill every run for itself, and a call may have
 * several, such as the summary of a long context and the message behind it. The lowest step comes first.
 */
export function stepShares(runs: readonly UnitCounts[], above: PriceSteps | undefined): readonly StepShare[] {
  const [first] = runs;
  // Nearly all calls.
  if (first !== undefined && runs.length === 1) {
    return totalTokens(first) === 0 ? [] : [{ above: stepFor(above, inputTokensOf(first)), runs: 1, counts: first }];
  }
  const shares = new Map<string | null, { runs: number; counts: UnitCounts }>();
  for (const run of runs) {
    if (totalTokens(run) === 0) continue;
    const step = stepFor(above, inputTokensOf(run));
    const before = shares.get(step);
    shares.set(
      step,
      before === undefined
        ? { runs: 1, counts: run }
        : { runs: before.runs + 1, counts: withTokens(noUsage, (name) => before.counts[name] + run[name]) },
    );
  }
  return [...shares]
    .map(([step, share]) => ({ above: step, ...share }))
    .sort((left, right) => Number(left.above) - Number(right.above));
}
