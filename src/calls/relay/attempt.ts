import type { CallOutcome } from '../../accounting/ledger/call-outcome.ts';
import type { GatewayError } from '../../errors/gateway-error.ts';
import type { CompletedStream } from '../../protocols/metering/output-speed.ts';
import type { Usage, UsageFacts } from '../../protocols/metering/usage-facts.ts';
import type { UpstreamRequest } from '../../providers/upstream/exchange.ts';
import type { PreparedCall } from '../prepared-call.ts';
import type { AbortLimits, OnClientAbort } from './client-abort.ts';

/** An admitted call on its way to a provider: what relaying it needs to know. */
export interface Attempt {
  readonly call: PreparedCall;
  readonly upstream: UpstreamRequest;
  /** For a stream whose provider has not reported everything that was used. */
  readonly estimates: StreamEstimates;
  readonly onClientAbort: OnClientAbort;
  readonly abortLimits: AbortLimits;
  /** A stream has begun to arrive with something other than an error: the route works, whatever becomes of the rest. */
  began(): void;
  /**
   * Ends the call. It resolves when the charge is durable; only then may the last byte of a success leave (design 6).
   * `answer` makes what a repeat of the call gets.
   */
  settle(result: AttemptResult, answer?: () => WholeAnswer): Promise<void>;
}

/** What is known of a call's use where its provider has not said it. */
export interface StreamEstimates {
  /** The tokens of its request. */
  inputTokens(): Promise<number>;
  /** What the model has written in a time without that it could be seen. */
  unseenTokens(elapsedMs: number): number;
  /** Learns from a stream that reached its end. */
  note(stream: CompletedStream): void;
  /** Cuts an estimate down to what was reserved for the call. */
  bound(estimate: UsageFacts, reported: Usage | null): UsageFacts;
}

/** A whole answer as the client gets it. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `null` where it is larger than what is kept. */
  readonly body: Buffer | null;
}

/** How an attempt ended, as far as money and the record are concerned. */
export interface AttemptResult {
  readonly status: CallOutcome['status'];
  /** `null` where nothing is charged. */
  readonly usage: UsageFacts | null;
  readonly httpStatus: number | null;
  readonly error: GatewayError | null;
  readonly requestId: string;
  /** Whether the call takes its place in windows and limits of calls, whatever is charged: its success had begun. */
  readonly counts: boolean;
  /** When the first byte of the provider's answer came, as an instant; `null` where none did. */
  readonly firstByteAtMs: number | null;
  /** What of this call a later one may refer to. */
  readonly continuationKeys: readonly string[];
}
