/** What is left of limits by the minute, as clients show it: of those that limit a call, the ones with the least left. */
export interface RateStatus {
  /** `null`: not limited. */
  readonly requests: RateLeft | null;
  readonly tokens: RateLeft | null;
}

export interface RateLeft {
  /** A minute. */
  readonly limit: number;
  readonly remaining: number;
  /** When all of it is free again. */
  readonly resetAtMs: number;
}

/**
 * The headers in which clients of a protocol look for what is left of their limits. `names`: the names under which the
 * protocol is mounted.
 */
export type RateHeaders = (
  status: RateStatus,
  nowMs: number,
  names: readonly string[],
) => Readonly<Record<string, string>>;
