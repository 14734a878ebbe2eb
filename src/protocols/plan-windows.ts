/** A Coding Plan window in the form that clients display. */
export interface PlanWindow {
  readonly name: 'fiveHour' | 'weekly';
  readonly limit: number;
  readonly used: number;
  /** When the window resets. If the window is used up: when it has capacity again. */
  readonly resetAtMs: number;
}

/** Builds the response headers in which clients of a protocol expect plan windows. `isRefused`: the call is refused because a window is used up. */
export type PlanHeaders = (windows: readonly PlanWindow[], isRefused: boolean) => Readonly<Record<string, string>>;

/** Returns the used share of a window, rounded down to hundredths. 1 means that nothing is left; this includes a limit of 0. */
export function usedPart({ limit, used }: PlanWindow): number {
  return limit === 0 ? 1 : Math.min(Math.floor((used * 100) / limit), 100) / 100;
}

/** Converts to Unix seconds. Rounds up, so that the capacity is available at the returned time. */
export function unixSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1_000);
}
