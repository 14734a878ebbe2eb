/** When a target is warm: decided over what a unit of work took in one slice of time after the other. */

/** By how much less than this a slice differs from the one before it, as a share of that, if nothing more is compiled. */
const STEADY_WITHIN = 0.03;
/** So many changes in succession; one may be a coincidence. */
const STEADY_CHANGES = 2;

/** Whether the last slices differ by so little that the target is warm. A slice in which no work was done is `null`. */
export function isSteady(slices: readonly (number | null)[]): boolean {
  const last = slices.slice(-STEADY_CHANGES - 1);
  if (last.length <= STEADY_CHANGES) return false;
  return last.every((slice, i) => {
    if (i === 0) return slice !== null;
    const before = last[i - 1]!;
    return slice !== null && before !== null && Math.abs(slice - before) < before * STEADY_WITHIN;
  });
}

/** How a warm-up ended. */
export interface Warmed {
  /** Whether it ended because of its slices, not of its limit. */
  readonly isSteady: boolean;
  readonly tookMs: number;
  readonly slices: readonly (number | null)[];
}

/** Has the target work slice by slice until it is warm, at least for one time and at most for the other. */
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
