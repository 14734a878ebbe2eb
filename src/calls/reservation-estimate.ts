import { chargeFor, imagesCostAtMost, type UnitPrices } from '../accounting/pricing/charge.ts';
import { type ChargeBasis, noUsage } from '../protocols/metering/usage-facts.ts';
import type { CallInput, Demand } from '../protocols/operations/operation.ts';
import type { Model } from '../providers/catalog/catalog.ts';

/** What is set aside for a call, by what its request says. */
export interface ReservationEstimate {
  /** What the model reads of the request and of what it continues. */
  readonly inputTokens: number;
  /** All tokens, results of tools and output included. */
  readonly tokens: number;
  readonly amountNano: bigint;
}

type EstimatedInput = Pick<CallInput, 'inputTokensEstimate' | 'choices' | 'demand'>;

/** What a call is priced by when it is admitted. */
export interface EstimateTerms {
  readonly model: Model;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** The size of what the call continues. */
  readonly continuedTokens: number;
}

/** What one use of a tool that the provider runs brings into the context: two searches of 8,000 tokens each. */
export const SERVER_TOOL_TOKENS = 16_000;

/**
 * What a call may cost: everything that multiplies it, at the price in force. See `docs/reservations.md`. It may exceed
 * the balance; admission asks only whether anything is left.
 */
export function estimateReservation(input: EstimatedInput, terms: EstimateTerms): ReservationEstimate {
  const { demand, choices } = input;
  const { model, prices, basis, continuedTokens } = terms;
  const contextTokens =
    model.contextTokensMax === null ? Number.MAX_SAFE_INTEGER : model.contextTokensMax * demand.inputs;
  const inputTokens = Math.min(input.inputTokensEstimate + continuedTokens, contextTokens);
  const readTokens = bounded(inputTokens + demand.serverTools * SERVER_TOOL_TOKENS);
  const outputTokens = expectedOutput(input, model);
  const usage = { ...noUsage, inputTokens: readTokens, outputTokens, searchUnits: demand.searchUnits };
  const cost =
    basis === 'images'
      ? imagesCostAtMost(choices, prices)
      : chargeFor(usage, dearest(prices, demand.writesCache), basis);
  return { inputTokens, tokens: bounded(readTokens + outputTokens), amountNano: least(cost, HOLD_NANO_MAX) };
}

/** What may be written in all answers together: by the limits that are stated, or by the model's own. */
function expectedOutput({ choices, demand }: EstimatedInput, model: Model): number {
  const { outputTokensLimit, thinkingTokens, moreOutputTokens, outputTokensDefault } = demand;
  if (outputTokensLimit === 0) return 0;
  const most = model.outputTokensMax ?? Number.MAX_SAFE_INTEGER;
  const expected = outputTokensLimit ?? model.outputTokensMax ?? outputTokensDefault;
  return bounded(Math.min(expected + thinkingTokens + moreOutputTokens, most) * choices);
}

/**
 * The output that a caller asks for, all answers together, as a plan limits it: by the limits that it states, and by the
 * model's own where it asks for several answers and states none. `null`: the caller leaves it to the model.
 */
export function requestedOutput(
  { choices, demand }: Pick<CallInput, 'choices' | 'demand'>,
  model: Model,
): number | null {
  const { outputTokensLimit, thinkingTokens, outputTokensDefault } = demand;
  if (outputTokensLimit !== null || thinkingTokens > 0)
    return bounded(((outputTokensLimit ?? 0) + thinkingTokens) * choices);
  return choices > 1 ? bounded((model.outputTokensMax ?? outputTokensDefault) * choices) : null;
}

/** Whether the output is text or images shows only in the answer, and so it does what of the input is written to a cache. */
function dearest(prices: UnitPrices, writesCache: boolean): UnitPrices {
  const { inputNanoPerMillion: input, outputNanoPerMillion: text, imageOutputNanoPerMillion: image } = prices;
  const written = greatest(prices.cacheWriteNanoPerMillion, prices.cacheWrite1hNanoPerMillion);
  return {
    ...prices,
    inputNanoPerMillion: writesCache ? greatest(input, written) : input,
    outputNanoPerMillion: greatest(text, image),
  };
}

/** A hold larger than any balance; a caller that asks for 10^15 tokens must not overflow the sums of the database. */
const HOLD_NANO_MAX = 1_000_000_000_000_000n;
const TOKENS_MAX = 1_000_000_000_000;

function bounded(tokens: number): number {
  return Math.min(tokens, TOKENS_MAX);
}

function greatest(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** What a conversation is taken for whose size nobody here knows, where the model states no context. */
const CONTEXT_TOKENS_DEFAULT = 128_000;

/** The size of what a call continues, which its provider adds to the request. */
export function continuedTokens({ continues }: Demand, totalTokens: number | undefined, model: Model): number {
  if (continues === 'nothing') return 0;
  const unknown = model.contextTokensMax ?? CONTEXT_TOKENS_DEFAULT;
  return continues === 'response' ? (totalTokens ?? unknown) : unknown;
}
