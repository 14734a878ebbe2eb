import type { Clock } from '../../lib/clock.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';
import type { ProviderKeys } from '../../providers/upstream/keys.ts';
import { requestedRestMs } from '../../providers/upstream/rest.ts';

/** A call over one route, tried with one key of the provider after the other. */
export interface KeyTurns {
  readonly keys: ProviderKeys;
  /** The provider's name of the model: limits of rate differ by model. */
  readonly model: string;
  readonly clock: Clock;
  /** Sends the call with this key. */
  readonly attempt: (key: string) => Promise<void>;
  /** Whether the client still waits and has got nothing yet. */
  readonly mayRepeat: () => boolean;
  /** The provider has refused the key of that name, or the account behind it. */
  readonly onRefused: (keyName: string | null, failure: UpstreamFailure) => void;
}

/**
 * Sends a call with the key whose turn it is. Where the provider refuses the key or limits its rate, it did not run the call,
 * and the next key is tried; after a limit of rate no key that rests, which would meet the same limit.
 *
 * @throws what the last attempt threw; but where another key only met a limit of rate, that limit: it passes.
 */
export async function tryKeys({ keys, model, clock, attempt, mayRepeat, onRefused }: KeyTurns): Promise<void> {
  const tried: string[] = [];
  let limit: UpstreamFailure | null = null;
  let key = keys.next(model, tried, true, clock.nowMs());
  for (;;) {
    // Where nothing was tried yet there is a key, however it stands.
    const current = key!;
    const sentAtMs = clock.nowMs();
    try {
      await attempt(current);
      keys.accepted(current, sentAtMs);
      return;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      noteRefusal(current, sentAtMs, error);
      const reason = error.refusal?.reason;
      if ((reason !== 'operator' && reason !== 'rate') || !mayRepeat()) throw error;
      if (reason === 'rate') limit = error;
      tried.push(current);
      key = keys.next(model, tried, limit === null, clock.nowMs());
      if (key === null) throw limit ?? error;
    }
  }

  function noteRefusal(used: string, sentAtMs: number, failure: UpstreamFailure): void {
    const { refusal, answer } = failure;
    if (refusal === null) return;
    const nowMs = clock.nowMs();
    if (refusal.reason === 'operator') {
      onRefused(keys.nameOf(used), failure);
      keys.refused(used, refusal.status, nowMs);
    } else if (refusal.reason === 'rate') {
      const restMs = requestedRestMs(answer.headers, nowMs);
      if (restMs !== null) keys.rest(used, model, restMs, nowMs);
    } else if (refusal.reason === 'call') {
      keys.accepted(used, sentAtMs);
    }
  }
}
