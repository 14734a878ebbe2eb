interface Group {
  readonly group: readonly string[];
}

/** Adds up equal groups of several pages. Each page has the first `limit` groups after the same cursor. */
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

/** Compares groups value by value, by bytes, as the SQL statements sort them. */
function compareGroups(left: readonly string[], right: readonly string[]): number {
  for (const [i, value] of left.entries()) {
    if (value !== right[i]) return Buffer.compare(Buffer.from(value), Buffer.from(right[i]!));
  }
  return 0;
}

/** Adds up numbers, including those in nested lists and objects. Text is kept. */
function sumOf(left: unknown, right: unknown): unknown {
  if (typeof left === 'number') return left + (right as number);
  if (typeof left === 'bigint') return left + (right as bigint);
  if (typeof left === 'string') return left;
  if (Array.isArray(left)) return left.map((value, i) => sumOf(value, (right as unknown[])[i]));
  const others = right as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(left as object).map(([name, value]) => [name, sumOf(value, others[name])]));
}
