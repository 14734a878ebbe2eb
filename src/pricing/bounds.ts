import type { ImageCount, Usage } from '../metering/usage-facts.ts';

/** The most that a call can have used, by its model and its request. */
export interface UsageBounds {
  /** Of everything that the model read, cached or not. */
  readonly inputTokensMax: number;
  /** Of everything that it wrote. */
  readonly outputTokensMax: number;
  readonly imagesMax: number;
  readonly searchUnitsMax: number;
}

/** What model and request say of that. */
export interface BoundingFacts {
  /** `null`: the configuration does not say. */
  readonly contextTokensMax: number | null;
  readonly outputTokensMax: number | null;
  /** Answers that were asked for. */
  readonly choices: number;
  /** Inputs that are read apart from each other, each up to the context. */
  readonly inputs: number;
  /** Output for each answer that does not count as the model's. */
  readonly moreOutputTokens: number;
  readonly searchUnitsMax: number;
}

/** A count that is believed where the configuration gives the model no limit. */
export const COUNT_MAX = 10_000_000;

/** Rounds of tools and of compaction that are believed: what a provider reports of them raises the bounds. */
const ROUNDS_MAX = 100;

/** With each use of a tool that the provider runs, and for each compaction, the model reads its context again. */
export function usageBounds(facts: BoundingFacts, usage: Usage): UsageBounds {
  const { contextTokensMax, outputTokensMax, choices, inputs, moreOutputTokens, searchUnitsMax } = facts;
  const compactions = Math.min(usage.compactions, ROUNDS_MAX);
  const rounds = 1 + Math.min(usage.serverToolUses, ROUNDS_MAX) + compactions;
  return {
    inputTokensMax: contextTokensMax === null ? COUNT_MAX : contextTokensMax * inputs * rounds,
    outputTokensMax:
      outputTokensMax === null
        ? COUNT_MAX
        : outputTokensMax * (choices + compactions) + Math.min(moreOutputTokens, COUNT_MAX) * choices,
    imagesMax: choices,
    searchUnitsMax,
  };
}

/** What was reported beyond the bounds; only what there is of it. */
export interface UsageExcess {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly images?: number;
  readonly searchUnits?: number;
}

/**
 * Cuts reported usage down to what the call can have used, and says what that took away; `excess` is `null` where it was
 * within its bounds. Of the kinds of input, and of output, those at the full price are cut last.
 */
export function boundUsage<Facts extends Usage>(
  usage: Facts,
  bounds: UsageBounds,
): { readonly usage: Facts; readonly excess: UsageExcess | null } {
  const input = new Allowance(bounds.inputTokensMax);
  const output = new Allowance(bounds.outputTokensMax);
  const images = new Allowance(bounds.imagesMax);
  const units = new Allowance(bounds.searchUnitsMax);
  const outputTokens = output.take(usage.outputTokens);
  const bounded: Facts = {
    ...usage,
    inputTokens: input.take(usage.inputTokens),
    cacheWriteTokens: input.take(usage.cacheWriteTokens),
    cacheWrite1hTokens: input.take(usage.cacheWrite1hTokens),
    imageInputTokens: input.take(usage.imageInputTokens),
    cachedInputTokens: input.take(usage.cachedInputTokens),
    outputTokens,
    reasoningTokens: Math.min(usage.reasoningTokens, outputTokens),
    imageOutputTokens: output.take(usage.imageOutputTokens),
    images: usage.images.map((image): ImageCount => ({ ...image, count: images.take(image.count) })),
    searchUnits: units.take(usage.searchUnits),
  };
  const excess: UsageExcess = {
    ...(input.excess > 0 && { inputTokens: input.excess }),
    ...(output.excess > 0 && { outputTokens: output.excess }),
    ...(images.excess > 0 && { images: images.excess }),
    ...(units.excess > 0 && { searchUnits: units.excess }),
  };
  return Object.keys(excess).length === 0 ? { usage, excess: null } : { usage: bounded, excess };
}

/** A bound that several counts share. */
class Allowance {
  #left: number;
  excess = 0;

  constructor(most: number) {
    this.#left = most;
  }

  take(count: number): number {
    const taken = Math.min(count, this.#left);
    this.#left -= taken;
    this.excess += count - taken;
    return taken;
  }
}
