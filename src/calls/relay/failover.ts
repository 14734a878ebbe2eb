import type { RoutePermit } from '../../providers/routing/health.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';
import type { AttemptResult } from './attempt.ts';

/**
 * What happened at a provider, and what follows from it:
 *
 * | what happened | another route is tried | the breakers of the route |
 * |---|---|---|
 * | no connection: refused, DNS, TLS, proxy | yes | a failure of the connection |
 * | all connections in use, for as long as a call may wait | yes | nothing |
 * | 429 before a byte of success | yes | a success: the provider answers |
 * | 503, 529 before a byte of success | yes | a failed answer |
 * | any other 5xx | no: the call may have run | a failed answer |
 * | any other refusal | no: another provider would refuse it too | a success: the provider answers |
 * | reset, or too late, after the call was sent | no: the outcome is unknown | a failed answer |
 * | a 200 that is no answer, or cannot be billed | no | nothing |
 * | the stream breaks off | no: a part is delivered | a failed answer |
 * | the client leaves | no | nothing |
 * | a success | no need | a success |
 *
 * A failure of the connection counts against the route for all. A failed answer may come of the call itself: whether it
 * counts against the route or against the account is decided in `providers/routing/blame.ts`.
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

/** Whether a failed call takes its place in windows and limits of calls: the provider answered it with a success. */
export function countsAllTheSame(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.hadSuccess;
}

/** Reports to a route's breakers how an attempt failed. */
export function reportFailure(permit: RoutePermit, error: unknown): void {
  // Held back by the gateway itself: that says nothing about the route.
  if (!(error instanceof UpstreamFailure) || !error.blamesRoute) return;
  const { kind, status, code } = error.answer;
  if (kind === 'upstreamInvalid') return;
  if (kind !== 'upstreamRefused') permit.failed(code, error.certainty === 'notSent' ? 'connection' : 'answer');
  else if (status >= 500) permit.failed(`status ${status}`, 'answer');
  // It answers, if only to refuse.
  else permit.succeeded();
}

/** Reports to a route's breakers how an attempt that delivered something ended. */
export function reportResult(permit: RoutePermit, { status, error }: AttemptResult): void {
  if (status === 'succeeded') permit.succeeded();
  else if (error !== null) permit.failed(error.code, 'answer');
}
