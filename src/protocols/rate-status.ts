/** What remains of per-minute limits, as clients display it. If several limits apply to a call, these are the ones with the least left. */
export interface RateStatus {
  readonly requests: RateLeft | null;
  readonly tokens: RateLeft | null;
}

export interface RateLeft {
  /** Per minute. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** Builds the response headers in which a protocol's clients expect the remaining limits. `names`: the mount names of the protocol. */
export type RateHeaders = (
  status: RateStatus,
  nowMs: number,
  names: readonly string[],
) => Readonly<Record<string, string>>;
