import type { CallFacts, CallOutcome, EndedCall } from '../billing/holds.ts';
import type { CallEnding } from '../settlement/ending.ts';
import type { Client } from './client.ts';
import type { Settings } from './settings.ts';
import type { CallTerms } from './terms.ts';

/** What an account has left for further calls: money that is not held, or calls of its plan. `null`: not known. */
export type Left = { readonly availableNano: bigint } | { readonly calls: number } | null;

/** A call that asks to be let through. */
export interface AdmissionRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly callId: string;
  /** Whether what the key may use is limited. */
  readonly isKeyLimited: boolean;
  /** The canonical id. */
  readonly model: string;
  readonly terms: CallTerms;
  readonly settings: Settings;
  readonly client: Client;
  readonly startedAtMs: number;
  /** What is known of the call by now. */
  readonly facts: CallFacts;
  /** What the call may cost. */
  readonly holdNano: bigint;
  /** What the call may use, in tokens. */
  readonly holdTokens: number;
  /** Other models that the call may use, by their canonical ids. */
  readonly innerModels: readonly string[];
  /** The size of the request, decoded. */
  readonly inputBytes: number;
  /** The most output tokens that the caller asks for; `null` where it states no limit. */
  readonly outputTokensRequested: number | null;
}

/** The part of a call's end that its entitlement decides about. */
export type EntitlementEnding = Pick<CallEnding, 'outcome' | 'plan' | 'key'>;

/** A call that has ended. */
export interface EndingRequest {
  readonly outcome: CallOutcome;
  /** Whether it takes its place in windows and limits of calls; else that is given back. */
  readonly counts: boolean;
  /** As in its admission. */
  readonly isKeyLimited: boolean;
}

/**
 * What lets calls through at an address: the balance or the Coding Plan of the account. The address decides which, and
 * neither ever touches the other (contract, section 1).
 */
export interface Entitlement {
  /**
   * Lets a call through and holds what it may use, and says what is left. When it resolves, that is durable.
   *
   * @throws GatewayError where the call is refused; nothing is held then.
   */
  admit(request: AdmissionRequest): Promise<Left>;
  /** What the end of a call that was let through changes in the books. */
  ending(call: EndingRequest): EntitlementEnding;
  /** The call has ended, durably: says what is left now. `before` is what its admission said. */
  ended(call: EndingRequest, ended: EndedCall, before: Left): Left;
}
