import type { Model } from '../catalog/catalog.ts';
import { type ChargeBasis, noUsage } from '../metering/usage-facts.ts';
import { chargeFor, imagesCostAtMost, type UnitPrices } from '../pricing/charge.ts';
import type { CallInput } from './operation.ts';

/** What is assumed of a call's output where neither the caller nor the model states a limit. */
export const OUTPUT_TOKENS_DEFAULT = 4_096;

export interface HoldEstimate {
  readonly inputTokens: number;
  readonly amountNano: bigint;
}

type HeldInput = Pick<CallInput, 'inputTokensEstimate' | 'outputTokensRequested' | 'choices'>;

/**
 * What a call may cost: its input by size and its output by the lowest limit that is stated, at the price in force
 * (design 6). It may exceed the balance; admission asks only whether anything is left.
 */
export function estimateHold(input: HeldInput, model: Model, prices: UnitPrices, basis: ChargeBasis): HoldEstimate {
  const inputTokens = Math.min(input.inputTokensEstimate, model.contextTokensMax ?? Number.MAX_SAFE_INTEGER);
  return { inputTokens, amountNano: least(costEstimate(input, inputTokens, model, prices, basis), HOLD_NANO_MAX) };
}

function costEstimate(
  input: HeldInput,
  inputTokens: number,
  model: Model,
  prices: UnitPrices,
  basis: ChargeBasis,
): bigint {
  if (basis === 'images') return imagesCostAtMost(input.choices, prices);
  const requested = input.outputTokensRequested ?? Number.MAX_SAFE_INTEGER;
  const outputPerChoice =
    model.outputTokensMax ?? (input.outputTokensRequested === null ? OUTPUT_TOKENS_DEFAULT : requested);
  const outputTokens = Math.min(requested, outputPerChoice * input.choices, Number.MAX_SAFE_INTEGER);
  return chargeFor({ ...noUsage, inputTokens, outputTokens, searchUnits: 1 }, dearestOutput(prices), basis);
}

/** Whether the output is text or images shows only in the answer. */
function dearestOutput(prices: UnitPrices): UnitPrices {
  const { outputNanoPerMillion: text, imageOutputNanoPerMillion: image } = prices;
  return image > text ? { ...prices, outputNanoPerMillion: image } : prices;
}

/** A hold larger than any balance; a caller that asks for 10^15 tokens must not overflow the sums of the database. */
const HOLD_NANO_MAX = 1_000_000_000_000_000n;

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}
