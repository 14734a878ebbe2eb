import type { HeldCall } from '../lib/two-phase.ts';

/** A call that asks to be admitted on its account's Coding Plan. */
export interface CodingCall extends HeldCall {
  readonly keyId: string;
  /** The canonical id. */
  readonly model: string;
  /** The size of the request, decoded. */
  readonly inputBytes: number;
  /** The most output tokens that the caller asks for; 0 where it states no limit. */
  readonly outputTokensRequested: number;
  /** What the call may use of the token quota; reserved until its end. */
  readonly reservedTokens: number;
  /** Other models that the call may use, by their canonical ids. */
  readonly innerModels: readonly string[];
  /** What is known of the call when it is admitted, as text: kept for the case that nobody lives to see its end. */
  readonly facts: string;
}

/** What admission answers, in the order of its checks (design 8). */
export type CodingVerdictCode =
  | 'admitted'
  | 'insufficient_package'
  | 'package_expired'
  | 'model_not_in_package'
  | 'package_input_too_large'
  | 'package_output_limit_exceeded'
  | 'package_5h_quota_exhausted'
  | 'package_weekly_quota_exhausted'
  | 'package_tokens_exhausted'
  | 'package_concurrency_limited';

export interface CodingVerdict {
  readonly code: CodingVerdictCode;
  /** When a window or the token quota has room again; `null` for every other verdict. */
  readonly freeAtMs: number | null;
  /** The plan of the account; `null` where it has none at the moment. */
  readonly planId: string | null;
  /** Calls that both windows have left after this one; `null` where it was not admitted, or that is not known exactly. */
  readonly callsLeft: number | null;
}

/** The end of an admitted call. */
export interface EndedCodingCall extends HeldCall {
  /** Whether its success had begun: then it keeps its slot, otherwise it gives it back. */
  readonly counts: boolean;
  /** All tokens of input and output, cached ones included; 0 where it does not count. */
  readonly tokens: number;
}
