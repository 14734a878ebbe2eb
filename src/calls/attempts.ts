import type { AttemptFailure, CallAttempt } from '../accounting/calls/call-outcome.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { UpstreamFailure } from '../providers/upstream/failure.ts';
import { toWords } from '../providers/upstream/provider-words.ts';
import { connectionWords } from './failure-words.ts';
import type { CredentialRotation } from './relay/failover.ts';
import type { Settings } from './settings.ts';

/** The attempts of a call, as its record lists them. Calls without a failed attempt have none. */

/** The last attempt decided the outcome, so it replaces the one before if there are more. */
export const ATTEMPTS_MAX = 8;

export const NO_ATTEMPTS: readonly CallAttempt[] = [];

export function withAttempt(attempts: readonly CallAttempt[], attempt: Omit<CallAttempt, 'no'>): CallAttempt[] {
  const no = (attempts.at(-1)?.no ?? 0) + 1;
  return [...attempts.slice(0, ATTEMPTS_MAX - 1), { no, ...attempt }];
}

interface MadeAttempt {
  readonly route: Pick<Route, 'providerId' | 'providerModel'>;
  readonly rotation: Pick<CredentialRotation, 'currentName' | 'sentAtMs'>;
  readonly startedAtMs: number;
  readonly settings: Pick<Settings, 'providers'>;
}

/** @param error `null`: the provider answered */
export function madeAttempt(
  { route, rotation, startedAtMs, settings }: MadeAttempt,
  error: UpstreamFailure | GatewayError | null,
  endedAtMs: number,
): Omit<CallAttempt, 'no'> {
  const { providerId: provider, providerModel: model } = route;
  const { currentName: credential, sentAtMs } = rotation;
  const { texts } = settings.providers.get(provider).hidden;
  return {
    provider,
    model,
    ...(credential !== null && { credential }),
    startedMs: sentAtMs - startedAtMs,
    durationMs: endedAtMs - sentAtMs,
    ...(error !== null && failedAttempt(error, texts)),
  };
}

/**
 * Marks the last attempt as lost: it failed, but might have run.
 * @param costAtMostNano what it can have cost the operator; `null`: unknown
 */
export function lostAttempt(attempts: readonly CallAttempt[], costAtMostNano: bigint | null): readonly CallAttempt[] {
  const last = attempts.at(-1);
  if (last === undefined) return attempts;
  const cost = costAtMostNano === null ? {} : { costAtMostNano: costAtMostNano.toString() };
  return attempts.with(-1, { ...last, isLost: true, ...cost });
}

type FailedAttempt = Pick<CallAttempt, 'failure' | 'status' | 'words' | 'isPrivate'>;

/**
 * Describes a failed attempt.
 * @param error an `UpstreamFailure`, or the error of a stream that broke off
 * @param secrets texts of the provider that words must not contain
 */
export function failedAttempt(error: UpstreamFailure | GatewayError, secrets: readonly string[]): FailedAttempt {
  const failed = error instanceof UpstreamFailure ? error : error.cause instanceof UpstreamFailure ? error.cause : null;
  const failure = kindOf(error, failed);
  if (failed?.answer) {
    const { status, words, isPrivate } = failed.answer;
    return { failure, status, ...(words !== null && { words }), ...(isPrivate && { isPrivate }) };
  }
  const cause = failed?.cause;
  if (!(cause instanceof Error) || cause instanceof GatewayError) return { failure };
  // The error of a connection can contain addresses.
  const words = toWords(connectionWords(cause), secrets);
  return words === null ? { failure } : { failure, words, isPrivate: true };
}

function kindOf(error: UpstreamFailure | GatewayError, failed: UpstreamFailure | null): AttemptFailure {
  const { kind } = failed?.response ?? (error as GatewayError);
  if (kind === 'upstreamAccountRefused') return 'account';
  if (failed !== null && (failed.refusal !== null || (failed.answer?.words ?? null) !== null)) return 'refused';
  if (failed?.certainty === 'notSent') return failed.blamesRoute ? 'connection' : 'queue';
  if (kind === 'upstreamTimeout' || kind === 'streamStalled') return 'timeout';
  return kind === 'upstreamInvalid' ? 'unusable' : 'interrupted';
}
