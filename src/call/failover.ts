import type { Passage } from '../routing/health.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import type { AttemptResult } from './attempt.ts';

/**
 * What happened at a provider, and what follows from it (design 9, 11):
 *
 * | what happened | another route is tried | the route's breaker |
 * |---|---|---|
 * | no connection: refused, DNS, TLS, proxy | yes | a failure |
 * | all connections in use, for as long as a call may wait | yes | says nothing |
 * | 429 before a byte of success | yes | closed: it answers |
 * | 503, 529 before a byte of success | yes | a failure |
 * | any other 5xx | no: it may have carried the call out | a failure |
 * | any other refusal | no: another provider would refuse it too | closed: it answers |
 * | reset, or too late, after the call was sent | no: the outcome is unknown | a failure |
 * | a 200 that is no answer, or cannot be billed | no | says nothing |
 * | the stream breaks off | no: a part is delivered | a failure |
 * | the client leaves | no | says nothing |
 * | a success | no need | closed |
 */

/** Statuses with which a provider says that it did not carry the call out, and that waiting or going elsewhere helps. */
const ELSEWHERE_STATUSES = new Set([429, 503, 529]);

/** Whether the provider surely did not carry the call out, so that another one may be asked. */
export function mayTryAnother(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'notSent') return true;
  return error.certainty === 'refused' && ELSEWHERE_STATUSES.has(error.answer.status);
}

/** What a provider's own gateway answers when it lost sight of a call (design 5.3). */
const LOST_STATUSES = new Set([502, 504]);

/** Whether a failed call may have been carried out all the same: then a repeat is told so instead of running it again. */
export function mayHaveRun(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'unknown') return true;
  return error.certainty === 'refused' && LOST_STATUSES.has(error.answer.status);
}

/** Tells a route's health how an attempt failed. */
export function tellFailure(passage: Passage, error: unknown): void {
  // Held back by the gateway itself: that says nothing about the route.
  if (!(error instanceof UpstreamFailure) || !error.blamesRoute) return;
  const { kind, status, code } = error.answer;
  if (kind === 'upstreamInvalid') return;
  if (kind !== 'upstreamRefused') passage.failed(code);
  else if (status >= 500) passage.failed(`status ${status}`);
  // It answers, if only to refuse.
  else passage.succeeded();
}

/** Tells a route's health how an attempt that delivered something ended. */
export function tellResult(passage: Passage, { status, error }: AttemptResult): void {
  if (status === 'succeeded') passage.succeeded();
  else if (error !== null) passage.failed(error.code);
}
