import type { Clock } from '../../lib/clock.ts';
import type { Credentials } from '../../providers/upstream/credentials.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';
import { requestedRestMs } from '../../providers/upstream/rest.ts';

/** A call over one route, tried with one credential of the provider after the other. */
interface CredentialTurns {
  readonly credentials: Credentials;
  /** The provider's name of the model: limits of rate differ by model. */
  readonly model: string;
  readonly clock: Clock;
  /** Sends the call with this credential. */
  readonly attempt: (credential: string) => Promise<void>;
  /** Whether the client still waits and has got nothing yet. */
  readonly mayRepeat: () => boolean;
  /** The provider has refused the credential of that name, or the account behind it. */
  readonly onRefused: (credentialName: string | null, failure: UpstreamFailure) => void;
}

/**
 * Sends a call with the credential whose turn it is. Where the provider refuses the credential or limits its rate, it did not
 * run the call, and the next one is tried; after a limit of rate none that rests, which would meet the same limit.
 *
 * @throws what the last attempt threw; but if another credential only met a limit of rate, that limit: it passes.
 */
export async function tryCredentials({
  credentials,
  model,
  clock,
  attempt,
  mayRepeat,
  onRefused,
}: CredentialTurns): Promise<void> {
  const tried: string[] = [];
  let limit: UpstreamFailure | null = null;
  let credential = credentials.next(model, tried, true, clock.nowMs());
  for (;;) {
    // If nothing was tried yet there is a credential, however it stands.
    const current = credential!;
    const sentAtMs = clock.nowMs();
    try {
      await attempt(current);
      credentials.accepted(current, model, sentAtMs);
      return;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      noteRefusal(current, sentAtMs, error);
      const reason = error.refusal?.reason;
      if ((!isOfAccount(error) && reason !== 'rate') || !mayRepeat()) throw error;
      if (reason === 'rate') limit = error;
      tried.push(current);
      credential = credentials.next(model, tried, limit === null, clock.nowMs());
      if (credential === null) throw limit ?? error;
    }
  }

  function noteRefusal(used: string, sentAtMs: number, failure: UpstreamFailure): void {
    const { refusal, response } = failure;
    if (refusal === null) return;
    const nowMs = clock.nowMs();
    if (isOfAccount(failure)) onRefused(credentials.nameOf(used), failure);
    if (refusal.reason === 'operator') {
      credentials.refused(used, refusal.status, nowMs);
    } else if (refusal.reason === 'rate') {
      const requestedMs = requestedRestMs(response.headers, nowMs);
      credentials.rest(used, model, { sentAtMs, atMs: nowMs, requestedMs });
    } else if (refusal.reason === 'call') {
      credentials.accepted(used, model, sentAtMs);
    }
  }
}

/** Whether the credential or the account behind it is refused, be it for this call alone: another one may be accepted. */
function isOfAccount({ response }: UpstreamFailure): boolean {
  return response.kind === 'upstreamAccountRefused';
}
