export interface PlanWindow {
  readonly name: 'fiveHour' | 'weekly';
  readonly limit: number;
  readonly used: number;
  /** When the window resets or, if it is used up, has capacity again. */
  readonly resetAtMs: number;
}

/** Builds response headers for plan windows. `isRefused`: the call is refused because a window is used up. */
export type PlanHeaders = (windows: readonly PlanWindow[], isRefused: boolean) => Readonly<Record<string, string>>;

/** Returns the used share, rounded down to hundredths. 1: nothing is left. */
export function usedPart({ limit, used }: PlanWindow): number {
  return limit === 0 ? 1 : Math.min(Math.floor((used * 100) / limit), 100) / 100;
}

/** Rounds up, so that the capacity is available at the returned time. */
export function unixSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1_000);
}
