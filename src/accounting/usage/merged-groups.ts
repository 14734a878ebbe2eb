/** Sums of one group. */
interface Group {
  /** The values of what it is grouped by. */
  readonly group: readonly string[];
}

/**
 * One page of the pages that partitions have of the same groups: each sorted, with all groups behind the same place, or the first `limit`
 * of them. The sums of a group are added up. The page is exact: a partition that has stopped has returned `limit` groups, so what it has
 * left out comes behind as many.
 */
export function mergeGroups<Sums extends Group>(pages: readonly (readonly Sums[])[], limit: number): readonly Sums[] {
  const [only] = pages;
  if (pages.length === 1 && only !== undefined) return only;
  const merged = new Map<string, Sums>();
  for (const row of pages.flat()) {
    const name = JSON.stringify(row.group);
    const before = merged.get(name);
    merged.set(name, before === undefined ? row : (sumOf(before, row) as Sums));
  }
  return [...merged.values()].sort((left, right) => compareGroups(left.group, right.group)).slice(0, limit);
}

/** As the statements sort them: value by value, by the bytes of each. */
function compareGroups(left: readonly string[], right: readonly string[]): number {
  for (const [i, value] of left.entries()) {
    if (value !== right[i]) return Buffer.compare(Buffer.from(value), Buffer.from(right[i]!));
  }
  return 0;
}

/** Numbers and amounts are added up, also those in lists and in sums within sums; text stays. */
function sumOf(left: unknown, right: unknown): unknown {
  if (typeof left === 'number') return left + (right as number);
  if (typeof left === 'bigint') return left + (right as bigint);
  if (typeof left === 'string') return left;
  if (Array.isArray(left)) return left.map((value, i) => sumOf(value, (right as unknown[])[i]));
  const others = right as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(left as object).map(([name, value]) => [name, sumOf(value, others[name])]));
}
