import { noUsage, totalTokens } from '../../protocols/metering/usage-facts.ts';
import { type UnitCounts, withTokens } from '../../protocols/metering/usage-units.ts';
import { type RunStep, type SteppedPrices, stepOf } from './token-rates.ts';

export interface StepShare {
  readonly step: RunStep;
  readonly runs: number;
  readonly counts: UnitCounts;
}

/** Groups runs by price step, lowest first. Vendors bill each run of a call, such as a summary and the message after it. */
export function stepShares(runs: readonly UnitCounts[], prices: SteppedPrices): readonly StepShare[] {
  const [first] = runs;
  // Fast path: nearly all calls have one run.
  if (first !== undefined && runs.length === 1) {
    return totalTokens(first) === 0 ? [] : [{ step: stepOf(prices, first), runs: 1, counts: first }];
  }
  const shares = new Map<string, StepShare>();
  for (const run of runs) {
    if (totalTokens(run) === 0) continue;
    const step = stepOf(prices, run);
    const key = JSON.stringify(step);
    const before = shares.get(key);
    shares.set(
      key,
      before === undefined
        ? { step, runs: 1, counts: run }
        : { step, runs: before.runs + 1, counts: withTokens(noUsage, (name) => before.counts[name] + run[name]) },
    );
  }
  return [...shares.values()].sort((left, right) => order(left.step) - order(right.step));
}

/** Rank of a step: by length of the input, then by reasoning and length of the output. */
function order({ above = '0', thinking, outputAbove = '0' }: RunStep): number {
  return Number(above) + (Number(thinking === true) + Number(outputAbove)) / LENGTH_MAX;
}

/** Greater than any token count in the name of a step. */
const LENGTH_MAX = 1e9;
