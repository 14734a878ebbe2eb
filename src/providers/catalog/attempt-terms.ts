import type { FallbackReason, RetriedFailure } from '../../config/attempt-schema.ts';
import type { GroupConfig, ModelConfig } from '../../config/schema.ts';

/** What a model says about silent, failed and closed routes (`docs/routing.md`). Terms are `null` by default. */
export interface AttemptTerms {
  /** A stream that is silent for this long gets a comment, even before the provider has responded. */
  readonly keepAliveMs: number | null;
  readonly retry: RetryTerms | null;
  readonly fallbacks: FallbackTerms | null;
  /** Whether fallbacks of a group apply: the model says nothing about fallbacks, not even that it has none. */
  readonly takesFallbacksOfGroup: boolean;
}

/** Further attempts of calls that might have run. */
export interface RetryTerms {
  readonly on: ReadonlySet<RetriedFailure>;
  /** Maximum number of further attempts of a call. */
  readonly attemptsMax: number;
  /** Longest wait for the first byte while a further attempt is left; `null`: as long as the provider allows. */
  readonly firstByteMs: number | null;
  readonly includesImages: boolean;
}

/** Models that serve calls which no route of the requested model serves. */
export interface FallbackTerms {
  /** Canonical ids, in the order in which they are tried. */
  readonly models: readonly string[];
  readonly on: ReadonlySet<FallbackReason>;
  readonly charge: 'served' | 'asked';
}

export function compileAttemptTerms({
  keepAlive,
  retry,
  ...fallbacks
}: Pick<ModelConfig, 'keepAlive' | 'retry' | FallbackKey>): AttemptTerms {
  return {
    keepAliveMs: keepAlive?.before ?? null,
    retry:
      retry === undefined
        ? null
        : {
            on: new Set(retry.on),
            attemptsMax: retry.within,
            firstByteMs: retry.firstByte ?? null,
            includesImages: retry.images,
          },
    fallbacks: compileFallbacks(fallbacks),
    takesFallbacksOfGroup: fallbacks.fallbacks === undefined,
  };
}

type FallbackKey = 'fallbacks' | 'fallbackOn' | 'fallbackCharge';

/** @param config a model or a group */
export function compileFallbacks({
  fallbacks = [],
  fallbackOn = ['unavailable'],
  fallbackCharge = 'served',
}: Pick<ModelConfig | GroupConfig, FallbackKey>): FallbackTerms | null {
  return fallbacks.length === 0 ? null : { models: fallbacks, on: new Set(fallbackOn), charge: fallbackCharge };
}
