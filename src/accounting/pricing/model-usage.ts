import { addUsage, type ModelUsage, noUsage, type Usage } from '../../protocols/metering/usage-facts.ts';
import { type UnitCounts, unitsWhere, withTokens } from '../../protocols/metering/usage-units.ts';

/** What a call used of one model. */
export interface OwnedUsage {
  readonly usage: Usage;
  /** The same tokens by run of the model: each has an input of its own, whose length decides the prices of its tokens. */
  readonly runs: readonly UnitCounts[];
}

/** What a call used of one of the models that were named inside its request. */
export interface InnerUsage<Inner> extends OwnedUsage {
  readonly inner: Inner;
}

/** The model of a part of the usage: the call's own model, or a model that its request named. */
type Owner<Inner> = Inner | 'own';

/**
 * Splits the usage of a call among its own model and those that its request named. Some parts of a report are included in
 * its totals, some are not, and vendors differ in which. So the usage of the call's own model is the greater of two: the
 * totals less the parts of other models, and the sum of its own parts.
 */
export function splitUsage<Inner>(
  totals: Usage,
  parts: readonly ModelUsage[],
  ownerOf: (model: string | null) => Owner<Inner>,
): { readonly own: OwnedUsage; readonly inner: readonly InnerUsage<Inner>[] } {
  if (parts.length === 0) return { own: { usage: totals, runs: [totals] }, inner: [] };
  const inner = new Map<Inner, Usage[]>();
  const ownInside: Usage[] = [];
  const ownBeside: Usage[] = [];
  let othersInside = noUsage;
  for (const { model, isInside, usage } of parts) {
    const owner = ownerOf(model);
    if (owner === 'own') {
      (isInside ? ownInside : ownBeside).push(usage);
      continue;
    }
    if (isInside) othersInside = addUsage(othersInside, usage);
    const runs = inner.get(owner);
    if (runs === undefined) inner.set(owner, [usage]);
    else runs.push(usage);
  }
  const rest = inner.size === 0 ? totals : greater(totals, othersInside, sumOf(ownInside));
  return {
    own: { usage: addUsage(rest, sumOf(ownBeside)), runs: [...runsOf(rest, ownInside), ...ownBeside] },
    inner: [...inner].map(([owner, runs]) => ({ inner: owner, usage: sumOf(runs), runs })),
  };
}

/**
 * The runs of a usage: those that are listed, if they are all of it. Else compactions, which are listed because the
 * vendor's totals lack them, and what remains as one run.
 */
function runsOf(usage: Usage, listed: readonly Usage[]): readonly UnitCounts[] {
  if (listed.length === 0) return [usage];
  if (BILLED.every((name) => listed.reduce((sum, run) => sum + run[name], 0) === usage[name])) return listed;
  const compactions = listed.filter((run) => run.compactions > 0);
  return [less(usage, sumOf(compactions)), ...compactions];
}

const sumOf = (runs: readonly Usage[]): Usage => runs.reduce(addUsage, noUsage);

const BILLED = unitsWhere(({ side }) => side === 'input' || side === 'output');

/** Count by count: the totals less the others, or the call's own parts where these are more. Other units are those of the whole call. */
function greater(totals: Usage, others: Usage, own: Usage): Usage {
  return withTokens(totals, (name) => Math.max(totals[name] - others[name], own[name]));
}

function less(usage: Usage, others: Usage): UnitCounts {
  return withTokens(noUsage, (name) => Math.max(usage[name] - others[name], 0));
}
