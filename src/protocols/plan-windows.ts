export interface PlanWindow {
  readonly name: 'fiveHour' | 'weekly';
  readonly limit: number;
  readonly used: number;
  /** When the window is reset or, if it is used up, when it has capacity again. */
  readonly resetAtMs: number;
}

/** Builds response headers about plan windows. `isRefused`: whether the call is refused because a window is used up. */
export type PlanHeaders = (windows: readonly PlanWindow[], isRefused: boolean) => Readonly<Record<string, string>>;

/** Returns the used share of a window, rounded down to hundredths: 1 only if nothing is left. */
export function usedPart({ limit, used }: PlanWindow): number {
  return limit === 0 ? 1 : Math.min(Math.floor((used * 100) / limit), 100) / 100;
}

/** Converts a time to Unix seconds, rounded up, so that the capacity is available then. */
export function unixSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1_000);
}
