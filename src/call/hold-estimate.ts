import type { Model } from '../catalog/catalog.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { chargeTokens, type TokenPrices } from '../pricing/charge.ts';
import type { CallInput } from './operation.ts';

/** What is assumed of a call's output where neither the caller nor the model states a limit. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;

export interface HoldEstimate {
  readonly inputTokens: number;
  readonly amountNano: bigint;
}

/**
 * What a call may cost: its input by size and its output by the lowest limit that is stated, at the price in force
 * (design 6). It may exceed the balance; admission asks only whether anything is left.
 */
export function estimateHold(input: CallInput, bodyBytes: number, model: Model, prices: TokenPrices): HoldEstimate {
  const inputTokens = Math.min(estimateTokens(bodyBytes), model.contextTokensMax ?? Number.MAX_SAFE_INTEGER);
  const requested = input.outputTokensRequested ?? Number.MAX_SAFE_INTEGER;
  const outputPerChoice =
    model.outputTokensMax ?? (input.outputTokensRequested === null ? OUTPUT_TOKENS_DEFAULT : requested);
  const usage = {
    ...noUsage,
    inputTokens,
    outputTokens: Math.min(requested, outputPerChoice * input.choices, Number.MAX_SAFE_INTEGER),
  };
  return { inputTokens, amountNano: least(chargeTokens(usage, prices), HOLD_NANO_MAX) };
}

/** A hold larger than any balance; a caller that asks for 10^15 tokens must not overflow the sums of the database. */
const HOLD_NANO_MAX = 1_000_000_000_000_000n;

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
