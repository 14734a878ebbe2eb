/** A window of a Coding Plan as clients show it. */
export interface PlanWindow {
  readonly name: 'fiveHour' | 'weekly';
  /** In calls. */
  readonly limit: number;
  readonly used: number;
  /** When it is whole again; if nothing remains of it, when it has room again. */
  readonly resetAtMs: number;
}

/** The headers in which clients of a protocol look for the windows of a plan; `isRefused`: because one is used up. */
export type PlanHeaders = (windows: readonly PlanWindow[], isRefused: boolean) => Readonly<Record<string, string>>;

/** The used part of a window, rounded down to hundredths: 1 means that nothing remains, also of a limit of 0. */
export function usedPart({ limit, used }: PlanWindow): number {
  return limit === 0 ? 1 : Math.min(Math.floor((used * 100) / limit), 100) / 100;
}

/** Unix seconds, rounded up: at that instant there is room. */
export function unixSeconds(epochMs: number): number {
  return Math.ceil(epochMs / 1_000);
}
