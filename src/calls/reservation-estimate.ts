import { chargeFor, imagesCostAtMost, type UnitPrices } from '../accounting/pricing/charge.ts';
import { FACTOR_ONE, type RunPrices, termFactor } from '../accounting/pricing/token-rates.ts';
import { RESERVED_NANO_MAX } from '../accounting/reservations/reservation.ts';
import { hasTerms, type ServiceTerms, termNames } from '../protocols/metering/service-terms.ts';
import { type ChargeBasis, noUsage } from '../protocols/metering/usage-facts.ts';
import { pricedUnits, type TokenPriceFields } from '../protocols/metering/usage-units.ts';
import type { CallInput, Demand } from '../protocols/operations/operation.ts';
import type { Model } from '../providers/catalog/catalog.ts';

export interface ReservationEstimate {
  /** Tokens of the request, and of the stored state that the request continues. */
  readonly inputTokens: number;
  /** Tokens of input, tool results and output together. */
  readonly tokens: number;
  readonly amountNano: bigint;
  /** True if neither the request nor the model limits the output. */
  readonly assumesOutput: boolean;
}

/** What a request asks for, as far as it affects the cost. */
export type EstimatedInput = Pick<CallInput, 'inputTokensEstimate' | 'choices' | 'demand'>;

export interface EstimateTerms {
  readonly model: Model;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  readonly continuedTokens: number;
}

/** Tokens that one server-tool use adds to the context, such as search results. */
export const TOOL_USE_TOKENS = 8_000;

/** The actual input may exceed its estimate by this factor. */
const COMPACTION_MARGIN = 2;

/**
 * Estimates the maximum cost of a call at the list price, including everything that can multiply the cost (`docs/reservations.md`). The
 * amount may exceed the balance: admission only requires that some balance is available.
 */
export function estimateReservation(input: EstimatedInput, terms: EstimateTerms): ReservationEstimate {
  const { demand, choices } = input;
  const { model, prices, basis, continuedTokens } = terms;
  const contextTokens =
    model.contextTokensMax === null ? Number.MAX_SAFE_INTEGER : model.contextTokensMax * demand.inputs;
  const inputTokens = Math.min(input.inputTokensEstimate + continuedTokens, contextTokens);
  const length = bounded(inputTokens + demand.serverToolUses * TOOL_USE_TOKENS);
  const compacts = demand.compactsAboveTokens !== null && length * COMPACTION_MARGIN > demand.compactsAboveTokens;
  // With compaction, the provider reads the whole input to write a summary, and then what remains of the input.
  const readTokens = compacts ? bounded(2 * length) : length;
  const summaryTokens = compacts ? (model.outputTokensMax ?? demand.outputTokensDefault) : 0;
  const outputTokens = bounded(expectedOutput(input, model) + summaryTokens);
  const usage = {
    ...noUsage,
    inputTokens: readTokens,
    outputTokens,
    searchUnits: demand.searchUnits,
    otherToolUses: demand.serverToolUses,
    servedOn: costlierTerms(prices, demand.terms),
  };
  const cost =
    basis === 'images'
      ? imagesCostAtMost(choices, prices)
      : chargeFor(usage, highestPrices(prices, demand, length), basis);
  return {
    inputTokens,
    tokens: bounded(readTokens + outputTokens),
    amountNano: least(cost, RESERVED_NANO_MAX),
    assumesOutput: demand.outputTokensLimit === null && model.outputTokensMax === null,
  };
}

/** Maximum output tokens of all choices together, by the limits of the request, or else by those of the model. */
function expectedOutput({ choices, demand }: EstimatedInput, model: Model): number {
  const { outputTokensLimit, thinkingTokens, moreOutputTokens, outputTokensDefault } = demand;
  if (outputTokensLimit === 0) return 0;
  const most = model.outputTokensMax ?? Number.MAX_SAFE_INTEGER;
  const expected = outputTokensLimit ?? model.outputTokensMax ?? outputTokensDefault;
  return bounded(Math.min(expected + thinkingTokens + moreOutputTokens, most) * choices);
}

/** Output tokens that the request asks for, all choices together; `null`: the model decides the length. */
export function requestedOutput(
  { choices, demand }: Pick<CallInput, 'choices' | 'demand'>,
  model: Model,
): number | null {
  const { outputTokensLimit, thinkingTokens, outputTokensDefault } = demand;
  if (outputTokensLimit !== null || thinkingTokens > 0)
    return bounded(((outputTokensLimit ?? 0) + thinkingTokens) * choices);
  return choices > 1 ? bounded((model.outputTokensMax ?? outputTokensDefault) * choices) : null;
}

/** Output tokens that a call asks for on one of its routes at most; 0: the model decides the length on all of them. */
export function mostRequestedOutput(
  { asks, input }: { readonly asks: readonly EstimatedInput[] | null; readonly input: EstimatedInput },
  model: Model,
): number {
  if (asks === null) return requestedOutput(input, model) ?? 0;
  return Math.max(...asks.map((asked) => requestedOutput(asked, model) ?? 0));
}

/** The highest prices that can apply, because model runs, caching and tool uses are known only from the response. */
function highestPrices(prices: UnitPrices, demand: Demand, inputTokens: number): UnitPrices {
  const { above } = prices;
  const steps = above === undefined ? [] : Object.keys(above).filter((step) => inputTokens > Number(step));
  const asks = [demand.writesCache, demand.audioInput !== null, demand.audioOutput !== null];
  const key = `${asks},${steps}`;
  let known = highestPricesOf.get(prices);
  if (known === undefined) {
    known = new Map();
    highestPricesOf.set(prices, known);
  }
  let found = known.get(key);
  if (found === undefined) {
    found = computeHighestPrices(prices, demand, steps);
    known.set(key, found);
  }
  return found;
}

/** Highest prices that were computed before. The inner key contains the features of a request that affect prices. */
const highestPricesOf = new WeakMap<UnitPrices, Map<string, UnitPrices>>();

function computeHighestPrices(
  { above = {}, ...unstepped }: UnitPrices,
  demand: Demand,
  steps: readonly string[],
): UnitPrices {
  const { thinking: _thinking, outputAbove: _outputAbove, ...prices } = unstepped;
  const runs: readonly RunPrices[] = [unstepped, ...steps.map((step) => above[step]!)];
  const lists: readonly TokenPriceFields[] = runs.flatMap((run) => [
    run,
    ...(run.thinking === undefined ? [] : [run.thinking]),
    ...Object.values(run.outputAbove ?? {}),
  ]);
  const input = lists.flatMap((list) => [
    list.inputNanoPerMillion,
    list.citationsNanoPerMillion ?? 0n,
    ...(demand.writesCache ? [list.cacheWriteNanoPerMillion, list.cacheWrite1hNanoPerMillion] : []),
    ...(demand.audioInput === null ? [] : [list.audioInputNanoPerMillion ?? 0n]),
  ]);
  const output = lists.flatMap((list) => [
    list.outputNanoPerMillion,
    list.reasoningNanoPerMillion ?? 0n,
    list.imageOutputNanoPerMillion,
    ...(demand.audioOutput === null ? [] : [list.audioOutputNanoPerMillion ?? 0n]),
  ]);
  return {
    ...prices,
    inputNanoPerMillion: greatest(input),
    outputNanoPerMillion: greatest(output),
    perToolUseNano: greatest(TOOL_PRICES.map((field) => prices[field] ?? 0n)),
  };
}

const TOOL_PRICES = pricedUnits.flatMap(({ price, field }) =>
  price.basis === 'tokens' && price.per === 'one' ? [field] : [],
);

/** Service terms that cost more than the plain ones. Cheaper terms are ignored, because the provider may not grant them. */
function costlierTerms(prices: UnitPrices, asked: ServiceTerms): ServiceTerms {
  if (!hasTerms(asked)) return asked;
  return Object.fromEntries(
    termNames.flatMap((name) =>
      (termFactor(prices, name, asked[name]) ?? 0n) > FACTOR_ONE ? [[name, asked[name]]] : [],
    ),
  );
}

const TOKENS_MAX = 1_000_000_000_000;

function bounded(tokens: number): number {
  return Math.min(tokens, TOKENS_MAX);
}

function greatest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}

function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** Context size that is assumed for a conversation of unknown size if the model has no configured context. */
const CONTEXT_TOKENS_DEFAULT = 128_000;

/** Tokens that the provider adds to the input for the state that the call continues. */
export function continuedTokens({ continues }: Demand, totalTokens: number | undefined, model: Model): number {
  if (continues === 'nothing') return 0;
  const unknown = model.contextTokensMax ?? CONTEXT_TOKENS_DEFAULT;
  return continues === 'response' ? (totalTokens ?? unknown) : unknown;
}
