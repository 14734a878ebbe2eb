import { countImages, type ImageCount, type Usage } from '../../protocols/metering/usage-facts.ts';
import {
  TOOL_USES_MAX,
  type UnitBound,
  type UnitName,
  type UsageUnit,
  unitNames,
  unitsWhere,
  usageUnits,
} from '../../protocols/metering/usage-units.ts';

interface UsageBounds {
  /** Includes cached tokens. */
  readonly inputTokensMax: number;
  readonly outputTokensMax: number;
  readonly imagesMax: number;
  readonly searchUnitsMax: number;
  /** Maximum uses of all tools that have a price, together. */
  readonly toolUsesMax: number;
}

export interface BoundingFacts {
  /** Context length of the model; `null`: not configured. */
  readonly contextTokensMax: number | null;
  readonly outputTokensMax: number | null;
  readonly choices: number;
  /** Number of inputs that the model reads separately, each up to its context length. */
  readonly inputs: number;
  /** Output tokens per choice that the model's limit does not include. */
  readonly moreOutputTokens: number;
  readonly searchUnitsMax: number;
}

/** Maximum token count that is accepted from a provider if no limit of the model is configured. */
export const COUNT_MAX = 10_000_000;

/** Maximum number of tool uses, and of compactions, for which the bounds are raised. */
const ROUNDS_MAX = 100;

/**
 * Maximum usage that is accepted. Each use of a server tool causes another round. Each round and each compaction can read the whole context
 * and write the maximum output.
 */
export function usageBounds(facts: BoundingFacts, usage: Usage): UsageBounds {
  const { contextTokensMax, outputTokensMax, choices, inputs, moreOutputTokens, searchUnitsMax } = facts;
  const compactions = Math.min(usage.compactions, ROUNDS_MAX);
  const rounds = 1 + Math.min(usage.serverToolUses, ROUNDS_MAX);
  return {
    inputTokensMax: contextTokensMax === null ? COUNT_MAX : contextTokensMax * inputs * (rounds + compactions),
    outputTokensMax:
      outputTokensMax === null
        ? COUNT_MAX
        : (outputTokensMax + Math.min(moreOutputTokens, COUNT_MAX)) * choices * rounds + outputTokensMax * compactions,
    imagesMax: choices,
    searchUnitsMax,
    toolUsesMax: TOOL_USES_MAX,
  };
}

export type UsageExcess = {
  readonly [Name in UnitBound['name'] | 'images']?: number;
};

/** Cuts usage to its bounds. In input and in output, tokens at the full price are cut last. `excess`: what was cut; `null`: nothing. */
export function boundUsage<Facts extends Usage>(
  usage: Facts,
  bounds: UsageBounds,
): { readonly usage: Facts; readonly excess: UsageExcess | null } {
  if (isWithin(usage, bounds)) return { usage, excess: null };
  const allowances = {
    inputTokens: new Allowance(bounds.inputTokensMax),
    outputTokens: new Allowance(bounds.outputTokensMax),
    images: new Allowance(bounds.imagesMax),
    searchUnits: new Allowance(bounds.searchUnitsMax),
    toolUses: new Allowance(bounds.toolUsesMax),
  };
  const counts: { -readonly [Name in UnitName]?: number } = {};
  for (const { unit, bound } of BOUNDED) counts[unit] = allowances[bound.name].take(usage[unit]);
  for (const unit of WITHIN_OUTPUT) counts[unit] = Math.min(usage[unit], counts.outputTokens ?? usage.outputTokens);
  const images = usage.images.map((image): ImageCount => ({ ...image, count: allowances.images.take(image.count) }));
  const excess: UsageExcess = Object.fromEntries(
    Object.entries(allowances).flatMap(([name, allowance]) => (allowance.excess > 0 ? [[name, allowance.excess]] : [])),
  );
  return { usage: { ...usage, ...counts, images }, excess };
}

/** Whether nothing must be cut. This is checked first, because it is true of nearly all usage and a cut is much slower. */
function isWithin(usage: Usage, bounds: UsageBounds): boolean {
  const used = { inputTokens: 0, outputTokens: 0, searchUnits: 0, toolUses: 0 };
  for (const { unit, bound } of BOUNDED) used[bound.name] += usage[unit];
  return (
    used.inputTokens <= bounds.inputTokensMax &&
    used.outputTokens <= bounds.outputTokensMax &&
    used.searchUnits <= bounds.searchUnitsMax &&
    used.toolUses <= bounds.toolUsesMax &&
    countImages(usage) <= bounds.imagesMax
  );
}

/** Units in the order in which they use up a shared bound, so the last ones are cut first. */
const BOUNDED = unitNames
  .flatMap((unit) => {
    const { bound }: UsageUnit = usageUnits[unit];
    return bound === null ? [] : [{ unit, bound }];
  })
  .sort((left, right) => left.bound.order - right.bound.order);
const WITHIN_OUTPUT = unitsWhere(({ side }) => side === 'withinOutput');

/** A bound that several counts share: each count takes a part of what is left. */
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
