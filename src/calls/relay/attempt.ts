import type { CallOutcome } from '../../accounting/calls/call-outcome.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { CompletedStream } from '../../protocols/metering/output-speed.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { UpstreamRequest } from '../../providers/upstream/exchange.ts';
import type { PreparedCall } from '../prepared-call.ts';
import type { KnownOutput } from './bound-estimate.ts';
import type { AbortLimits, OnClientAbort } from './client-abort.ts';

/** One try of an admitted call at one route: what a relay needs. */
export interface Attempt {
  readonly call: PreparedCall;
  readonly upstream: UpstreamRequest;
  /** Estimates for a stream whose provider has not reported all usage. */
  readonly estimates: StreamEstimates;
  readonly onClientAbort: OnClientAbort;
  readonly abortLimits: AbortLimits;
  /** Reports that a stream has begun with something other than an error: the route works, however the stream ends. */
  began(): void;
  /**
   * Ends the call. It resolves when the charge is durable; only then may the last byte of a success leave
   * (`docs/architecture.md`, "Invariants of money"). `response` makes the response that repeats of the call get.
   */
  settle(result: AttemptResult, response?: () => WholeResponse): Promise<void>;
}

/** Estimates of what a call used, if its provider has not reported it. */
export interface StreamEstimates {
  /** The tokens of the request. */
  inputTokens(): Promise<number>;
  /** The output tokens that the model has written in that time without showing them, such as hidden reasoning. */
  unseenTokens(elapsedMs: number): number;
  /** Adds a stream that reached its end to the figures behind `unseenTokens`. */
  note(stream: CompletedStream): void;
  /** Reduces an estimate to what was reserved for the call, as far as it was not assumed and then delivered. */
  bound(estimate: UsageFacts, known: KnownOutput): UsageFacts;
}

/** A whole response as the client gets it. */
export interface WholeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `null` if the body is too large to be stored, or there was no memory for that. */
  readonly body: Buffer | null;
  /** There was no memory to store the body. */
  readonly hasNoRoom?: true;
}

/** How an attempt ended: what the charge and the call record need. */
export interface AttemptResult {
  readonly status: CallOutcome['status'];
  /** `null` if nothing is charged. */
  readonly usage: UsageFacts | null;
  readonly httpStatus: number | null;
  readonly error: GatewayError | null;
  readonly requestId: string;
  /** Whether the call counts in windows and limits of calls, whatever is charged: its success had begun. */
  readonly counts: boolean;
  /** The instant of the first byte of the provider's response; `null` if none came. */
  readonly firstByteAtMs: number | null;
  /** The continuation keys of what later calls may refer to. */
  readonly continuationKeys: readonly string[];
}
