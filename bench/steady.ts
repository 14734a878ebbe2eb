/** Decides when a target is warm, from the cost of a unit of work in consecutive time slices. */

/** Maximum relative change between consecutive slices once compilation is complete. */
const STEADY_WITHIN = 0.03;
/** Number of consecutive small changes; a single one may be a coincidence. */
const STEADY_CHANGES = 2;

/** Whether the last slices differ so little that the target is warm. A slice without work is `null`. */
export function isSteady(slices: readonly (number | null)[]): boolean {
  const last = slices.slice(-STEADY_CHANGES - 1);
  if (last.length <= STEADY_CHANGES) return false;
  return last.every((slice, i) => {
    if (i === 0) return slice !== null;
    const before = last[i - 1]!;
    return slice !== null && before !== null && Math.abs(slice - before) < before * STEADY_WITHIN;
  });
}

export interface Warmed {
  /** Whether its slices were steady; otherwise it reached its limit. */
  readonly isSteady: boolean;
  readonly tookMs: number;
  readonly slices: readonly (number | null)[];
}

/** Runs slices until the target is warm, for at least one duration and at most the other. */
export async function workUntilSteady(
  workSlice: () => Promise<number | null>,
  { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number },
  nowMs: () => number,
): Promise<Warmed> {
  const startMs = nowMs();
  const slices: (number | null)[] = [];
  for (;;) {
    slices.push(await workSlice());
    const tookMs = nowMs() - startMs;
    const steady = tookMs >= leastMs && isSteady(slices);
    if (steady || tookMs >= mostMs) return { isSteady: steady, tookMs, slices };
  }
}
