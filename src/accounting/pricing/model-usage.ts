import { addUsage, type ModelUsage, noUsage, type Usage } from '../../protocols/metering/usage-facts.ts';
import { unitsWhere } from '../../protocols/metering/usage-units.ts';

/** What a call used of one of the models that were named inside its request. */
export interface InnerUsage<Inner> {
  readonly inner: Inner;
  readonly usage: Usage;
  /** How many runs of the model that was. */
  readonly runs: number;
}

/** The model of a part of the usage: the call's own model, or a model that its request named. */
export type Owner<Inner> = Inner | 'own';

/**
 * Splits the usage of a call among its own model and those that its request named. Some parts of a report are included in
 * its totals, some are not, and vendors differ in which. So the usage of the call's own model is the greater of two: the
 * totals less the parts of other models, and the sum of its own parts.
 */
export function splitUsage<Inner>(
  totals: Usage,
  parts: readonly ModelUsage[],
  ownerOf: (model: string | null) => Owner<Inner>,
): { readonly own: Usage; readonly inner: readonly InnerUsage<Inner>[] } {
  const inner = new Map<Inner, { usage: Usage; runs: number }>();
  let ownInside = noUsage;
  let ownBeside = noUsage;
  let othersInside = noUsage;
  for (const { model, isInside, usage } of parts) {
    const owner = ownerOf(model);
    if (owner === 'own') {
      if (isInside) ownInside = addUsage(ownInside, usage);
      else ownBeside = addUsage(ownBeside, usage);
      continue;
    }
    if (isInside) othersInside = addUsage(othersInside, usage);
    const before = inner.get(owner) ?? { usage: noUsage, runs: 0 };
    inner.set(owner, { usage: addUsage(before.usage, usage), runs: before.runs + 1 });
  }
  const rest = inner.size === 0 ? totals : greater(totals, othersInside, ownInside);
  return {
    own: addUsage(rest, ownBeside),
    inner: [...inner].map(([owner, { usage, runs }]) => ({ inner: owner, usage, runs })),
  };
}

/** Rounds of tools and other units are those of the whole call. */
const TOKENS = unitsWhere(({ side }) => side !== 'other');

/** Count by count: the totals less the others, or the call's own parts where these are more. */
function greater(totals: Usage, others: Usage, own: Usage): Usage {
  const counts = TOKENS.map((name) => [name, Math.max(totals[name] - others[name], own[name])] as const);
  return { ...totals, ...Object.fromEntries(counts) };
}
