import type { Selection } from '../../src/db/table.ts';

const UNUSED: Readonly<Record<string, unknown>> = { bigint: 0n, timestamptz: new Date(0) };

/** Counters of a table with nothing used, whose period began in 1970. */
export function unusedCounts<Counts>({ counts }: { readonly counts: Selection<Counts> }): Counts {
  return counts.read(Object.fromEntries(counts.columns.map(({ name, type }) => [name, UNUSED[type]])));
}
