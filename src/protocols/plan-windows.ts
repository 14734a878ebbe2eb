/** A Coding Plan window in the form that clients display. */
export interface PlanWindow {
  readonly name: 'fiveHour' | 'weekly';
  readonly limit: number;
  readonly used: number;
  /** When the window resets; if it is used up, when capacity is available again. */
  readonly resetAtMs: number;
}

/** Builds the response headers in which a protocol's clients expect plan windows. `isRefused`: a window is used up. */
export type PlanHeaders = (windows: readonly PlanWindow[], isRefused: boolean) => Readonly<Record<string, string>>;

/** The used share of a window, rounded down to hundredths. 1 means that nothing remains, including for a limit of 0. */
export function usedPart({ limit, used }: PlanWindow): number {
  return limit === 0 ? 1 : Math.min(Math.floor((used * 100) / limit), 100) / 100;
}

/** Unix seconds, rounded up so that capacity is available at that time. */
export function unixSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1_000);
}
