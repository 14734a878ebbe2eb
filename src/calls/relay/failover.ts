import type { RoutePermit } from '../../providers/routing/health.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';
import type { AttemptResult } from './attempt.ts';

/**
 * What happened at a provider, and what follows:
 *
 * | what happened | another route is tried | the breakers of the route |
 * |---|---|---|
 * | no connection: refused, DNS, TLS, proxy | yes | a failure of the connection |
 * | all connections in use, for as long as a call may wait | yes | nothing |
 * | 429 before a byte of success | yes | a success: the provider responds |
 * | 503, 529 before a byte of success | yes | a failed response |
 * | any other 5xx | no: the call may have run | a failed response |
 * | any other refusal | no: another provider would refuse the call too | a success: the provider responds |
 * | reset, or timeout, after the call was sent | no: the outcome is unknown | a failed response |
 * | a 200 that is no response of the protocol, or cannot be billed | no | nothing |
 * | the stream breaks off | no: a part is delivered | a failed response |
 * | the client leaves | no | nothing |
 * | a success | no | a success |
 *
 * A failure of the connection counts against the route for all accounts. The call itself may cause a failed response:
 * `providers/routing/blame.ts` decides whether it counts against the route or against the account.
 */

/** Statuses with which a provider says that it did not carry the call out, and that it is short of capacity. */
const ELSEWHERE_STATUSES = new Set([429, 503, 529]);

/** Whether the provider certainly did not carry the call out and another route may serve it. */
export function mayTryAnother(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'notSent') return true;
  return error.certainty === 'refused' && ELSEWHERE_STATUSES.has(error.answer.status);
}

/** Statuses of a provider's own gateway that does not know whether the call was carried out. */
const LOST_STATUSES = new Set([502, 504]);

/** Whether the provider may have carried a failed call out: a repeat then gets the failure and does not run it again. */
export function mayHaveRun(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'unknown') return true;
  return error.certainty === 'refused' && LOST_STATUSES.has(error.answer.status);
}

/** Whether a failed call counts in windows and limits of calls: the provider had begun a success. */
export function countsAllTheSame(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.hadSuccess;
}

/** Reports to a route's breakers how an attempt failed. */
export function reportFailure(permit: RoutePermit, error: unknown): void {
  // The gateway itself stopped the call: that says nothing about the route.
  if (!(error instanceof UpstreamFailure) || !error.blamesRoute) return;
  const { kind, status, code } = error.answer;
  if (kind === 'upstreamInvalid') return;
  if (kind !== 'upstreamRefused') permit.failed(code, error.certainty === 'notSent' ? 'connection' : 'answer');
  else if (status >= 500) permit.failed(`status ${status}`, 'answer');
  // The provider responds, if only with a refusal.
  else permit.succeeded();
}

/** Reports to a route's breakers how an attempt that delivered something ended. */
export function reportResult(permit: RoutePermit, { status, error }: AttemptResult): void {
  if (status === 'succeeded') permit.succeeded();
  else if (error !== null) permit.failed(error.code, 'answer');
}
