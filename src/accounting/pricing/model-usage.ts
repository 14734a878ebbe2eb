import { addUsage, type ModelUsage, noUsage, type Usage } from '../../protocols/metering/usage-facts.ts';
import { type UnitCounts, unitsWhere, withTokens } from '../../protocols/metering/usage-units.ts';

export interface OwnedUsage {
  readonly usage: Usage;
  /** Tokens by run of the model. The input length of each run selects the prices of its tokens. */
  readonly runs: readonly UnitCounts[];
}

export interface InnerUsage<Inner> extends OwnedUsage {
  readonly inner: Inner;
}

type Owner<Inner> = Inner | 'own';

/**
 * Splits usage between the call's own model and inner models. Vendors differ in which parts their totals include. The own model gets the
 * greater of two values: the totals minus the included parts of other models, or the sum of its own included parts. Its parts outside the
 * totals are added.
 */
export function splitUsage<Inner>(
  totals: Usage,
  parts: readonly ModelUsage[],
  ownerOf: (model: string | null) => Owner<Inner>,
): { readonly own: OwnedUsage; readonly inner: readonly InnerUsage<Inner>[] } {
  if (parts.length === 0) return { own: { usage: totals, runs: [totals] }, inner: [] };
  const inner = new Map<Inner, Usage[]>();
  const ownInside: Usage[] = [];
  const ownOutside: Usage[] = [];
  let othersInside = noUsage;
  for (const { model, isInside, usage } of parts) {
    const owner = ownerOf(model);
    if (owner === 'own') {
      (isInside ? ownInside : ownOutside).push(usage);
      continue;
    }
    if (isInside) othersInside = addUsage(othersInside, usage);
    const runs = inner.get(owner);
    if (runs === undefined) inner.set(owner, [usage]);
    else runs.push(usage);
  }
  const remainder = inner.size === 0 ? totals : greater(totals, othersInside, sumOf(ownInside));
  return {
    own: { usage: addUsage(remainder, sumOf(ownOutside)), runs: [...runsOf(remainder, ownInside), ...ownOutside] },
    inner: [...inner].map(([owner, runs]) => ({ inner: owner, usage: sumOf(runs), runs })),
  };
}

/** Returns the runs of a model. If the listed ones do not add up to the usage: compactions, which totals lack, and one run for the rest. */
function runsOf(usage: Usage, listed: readonly Usage[]): readonly UnitCounts[] {
  if (listed.length === 0) return [usage];
  if (BILLED.every((name) => listed.reduce((sum, run) => sum + run[name], 0) === usage[name])) return listed;
  const compactions = listed.filter((run) => run.compactions > 0);
  return [less(usage, sumOf(compactions)), ...compactions];
}

const sumOf = (runs: readonly Usage[]): Usage => runs.reduce(addUsage, noUsage);

const BILLED = unitsWhere(({ side }) => side === 'input' || side === 'output');

/** Takes the greater count of each kind of token. Counts that are not of tokens stay those of the whole call. */
function greater(totals: Usage, others: Usage, own: Usage): Usage {
  return withTokens(totals, (name) => Math.max(totals[name] - others[name], own[name]));
}

function less(usage: Usage, others: Usage): UnitCounts {
  return withTokens(noUsage, (name) => Math.max(usage[name] - others[name], 0));
}
