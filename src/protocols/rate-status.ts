/** The remaining per-minute limits. If several apply to a call, the one with the least left counts. */
export interface RateStatus {
  readonly requests: RateLeft | null;
  readonly tokens: RateLeft | null;
}

export interface RateLeft {
  /** Limit per minute. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** Builds response headers for the remaining limits. `names`: the mount names of the protocol. */
export type RateHeaders = (
  status: RateStatus,
  nowMs: number,
  names: readonly string[],
) => Readonly<Record<string, string>>;
