/** What remains of limits per minute. If several limits apply to a call, the tightest one is shown. */
export interface RateStatus {
  readonly requests: RateLeft | null;
  readonly tokens: RateLeft | null;
}

export interface RateLeft {
  /** Maximum per minute. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** Builds response headers about limits per minute. `names`: the mounted names of the protocol. */
export type RateHeaders = (
  status: RateStatus,
  nowMs: number,
  names: readonly string[],
) => Readonly<Record<string, string>>;
