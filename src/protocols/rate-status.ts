/** The remaining per-minute limits in the form that clients display. If several limits apply to a call, the one with the least left is shown. */
export interface RateStatus {
  readonly requests: RateLeft | null;
  readonly tokens: RateLeft | null;
}

export interface RateLeft {
  /** The limit per minute. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** Builds the response headers in which clients of a protocol expect the remaining limits. `names`: the names under which the protocol is mounted. */
export type RateHeaders = (
  status: RateStatus,
  nowMs: number,
  names: readonly string[],
) => Readonly<Record<string, string>>;
