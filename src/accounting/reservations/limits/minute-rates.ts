import type { RateLeft, RateStatus } from '../../../protocols/rate-status.ts';
import { isInFuture } from '../../counts/counted-since.ts';
import { type AccountState, type AdmissionContext, type RateState, rateName } from '../account-state.ts';
import { maximaOfNames, type RateMaxima, usualMaxima } from '../rate-defaults.ts';
import type { GroupLimits, ReachedRate, Refusal, ReservationRequest } from '../reservation.ts';
import type { RateCounts, RateFill } from '../tables.ts';
import type { Limit } from './limit.ts';
import {
  drained,
  freeCount,
  msUntilAllFree,
  msUntilAnyFree,
  msUntilOneFree,
  undrained,
  withMore,
  withoutUndrained,
} from './rate-bucket.ts';

/**
 * Limits requests and tokens per minute by at most four buckets: of the account and of the key, each for all models and for the called
 * model (`docs/decisions/0035-limits-by-the-minute.md`). An admission takes the call's maximum number of tokens, but at most the lowest
 * limit; the end of the call corrects this.
 */
export const minuteRates: Limit = {
  refuse({ request }, account, context) {
    // Before the body is read, this limit never refuses: buckets may drain while it is read.
    if (request === null) return null;
    let longest: { waitMs: number; reached: Omit<ReachedRate, 'status'> } | null = null;
    for (const rate of ratesOf(request, account, context)) {
      const { keyId, model } = rate.state;
      const place = { isOfKey: keyId !== '', model: model === '' ? null : model };
      const { requestsMax, tokensMax } = rate;
      const used = usedNow(rate, context.nowMs);
      const behindMs = used.asOfMs - context.nowMs;
      const waits = [
        requestsMax && {
          waitMs: msUntilOneFree(used.requests, requestsMax),
          of: 'requests' as const,
          max: requestsMax,
        },
        tokensMax && { waitMs: msUntilAnyFree(used.tokens, tokensMax), of: 'tokens' as const, max: tokensMax },
      ];
      for (const wait of waits) {
        if (!wait || wait.waitMs === 0 || (longest !== null && longest.waitMs >= behindMs + wait.waitMs)) continue;
        const { waitMs, of, max } = wait;
        longest = { waitMs: behindMs + waitMs, reached: { of, max, ...place } };
      }
    }
    if (longest === null) return null;
    const status = rateStatus(request, account, context)!;
    const refusal: Refusal = {
      kind: 'rateLimitExceeded',
      retryAt: context.nowMs + longest.waitMs,
      rate: { ...longest.reached, status },
    };
    return refusal;
  },
  take(request, account, reservation, context) {
    const rates = ratesOf(request, account, context);
    const least = Math.min(...rates.map(({ tokensMax }) => tokensMax ?? Number.POSITIVE_INFINITY));
    const tokens = Number.isFinite(least) ? Math.min(request.tokens, least) : null;
    reservation.rateTokens = tokens;
    const fills = new Map<string, RateFill>();
    for (const rate of rates) {
      const { state, requestsMax, tokensMax } = rate;
      const used = usedNow(rate, context.nowMs);
      state.countedAtMs = used.asOfMs;
      state.requestsUsed = requestsMax === null ? 0 : withMore(used.requests, 1);
      state.tokensUsed = tokensMax === null ? 0 : withMore(used.tokens, tokens!);
      account.rates.set(rateName(state), state);
      if (tokensMax !== null) fills.set(rateName(state), [state.tokensUsed, tokensMax, state.countedAtMs]);
    }
    if (tokens === null) return;
    const { keyId, model } = request;
    reservation.rateFills = placesOf(keyId, model).map((place) => fills.get(rateName(place)) ?? null);
  },
  free({ keyId, model, rateTokens, rateFills }, use, { rates }) {
    if (rateTokens === null || rateFills === null) return;
    const more = use.rateTokens - rateTokens;
    for (const [i, place] of placesOf(keyId, model).entries()) {
      const state = rates.get(rateName(place));
      const fill = rateFills[i];
      if (state === undefined || !fill) continue;
      // Sets the level that the bucket would have if the actual use had been known when it last drained.
      state.tokensUsed =
        more >= 0
          ? withMore(state.tokensUsed, more)
          : withoutUndrained(state.tokensUsed, -more, undrained(fill, rateTokens, state.countedAtMs));
    }
  },
};

/** Returns what remains after an admission; `null` if the call has no limits. */
export function rateStatus(
  request: ReservationRequest,
  account: AccountState,
  context: AdmissionContext,
): RateStatus | null {
  let requests: RateLeft | null = null;
  let tokens: RateLeft | null = null;
  for (const rate of ratesOf(request, account, context)) {
    const used = usedNow(rate, context.nowMs);
    requests = tighter(requests, used.requests, rate.requestsMax, used.asOfMs);
    tokens = tighter(tokens, used.tokens, rate.tokensMax, used.asOfMs);
  }
  return requests === null && tokens === null ? null : { requests, tokens };
}

function tighter(other: RateLeft | null, used: number, max: number | null, asOfMs: number): RateLeft | null {
  if (max === null) return other;
  const left = { limit: max, remaining: freeCount(used, max), resetAtMs: asOfMs + msUntilAllFree(used, max) };
  const isTighter = other === null || left.remaining < other.remaining;
  return isTighter ? left : other;
}

/** A bucket with its limits: its own, or else those of the configuration. */
interface Rate extends RateMaxima {
  readonly state: RateState;
}

/** Whether any limits per minute apply. Most accounts have none. */
export function hasRates(
  { groupLimits }: Pick<ReservationRequest, 'groupLimits'>,
  { rates }: AccountState,
  { rateDefaults }: AdmissionContext,
): boolean {
  return rates.size > 0 || rateDefaults !== null || limitsRates(groupLimits);
}

export function limitsRates(limits: GroupLimits | null): boolean {
  return limits !== null && (limits.requestsMax !== null || limits.tokensMax !== null);
}

/** Returns the limits that apply. Limits that are only in the configuration may not have a row yet. */
function ratesOf(
  { accountId, keyId, model, modelAliases, groupLimits }: ReservationRequest,
  { rates }: AccountState,
  { rateDefaults }: AdmissionContext,
): Rate[] {
  const found: Rate[] = [];
  const ofAll = usualMaxima(groupLimits, rateDefaults);
  for (const place of placesOf(keyId, model)) {
    const isOfAccount = place.keyId === '';
    const usual = isOfAccount ? (place.model === '' ? ofAll : rateDefaults?.models.get(model)) : undefined;
    const stored = rates.get(rateName(place));
    const others = place.model === '' ? [] : underAliases(place.keyId, modelAliases, rates);
    const own = maximaOfNames(stored, others);
    const requestsMax = own.requestsMax ?? usual?.requestsMax ?? null;
    const tokensMax = own.tokensMax ?? usual?.tokensMax ?? null;
    if (requestsMax === null && tokensMax === null) continue;
    found.push({ state: stored ?? { ...countsOf(others), accountId, ...place, ...UNLIMITED }, requestsMax, tokensMax });
  }
  return found;
}

function underAliases(keyId: string, aliases: readonly string[], rates: AccountState['rates']): readonly RateState[] {
  return aliases.flatMap((model) => rates.get(rateName({ keyId, model })) ?? []);
}

/** Returns the counts for a new bucket. If the model has a bucket under an alias, these are its counts. */
function countsOf(others: readonly RateState[]): RateCounts {
  const [last] = others.toSorted((a, b) => b.countedAtMs - a.countedAtMs);
  return {
    countedAtMs: last?.countedAtMs ?? 0,
    requestsUsed: last?.requestsUsed ?? 0,
    tokensUsed: last?.tokensUsed ?? 0,
  };
}

const UNLIMITED = { requestsMax: null, tokensMax: null, isStored: false } as const;

/** Returns the keys of buckets that might be stored under aliases of the call's model. */
export function aliasPlacesOf({ keyId, modelAliases }: Pick<ReservationRequest, 'keyId' | 'modelAliases'>) {
  return modelAliases.flatMap((model) => [
    { keyId: '', model },
    { keyId, model },
  ]);
}

/** Returns the keys of a call's buckets: for its account and its API key, for all models and for the called model. */
export function placesOf(keyId: string, model: string): readonly Pick<RateState, 'keyId' | 'model'>[] {
  return [
    { keyId: '', model: '' },
    { keyId: '', model },
    { keyId, model: '' },
    { keyId, model },
  ];
}

/** Use of a bucket at `asOfMs`: now, or slightly later if the clock went back. Until then, nothing drains. */
interface Used {
  readonly asOfMs: number;
  readonly requests: number;
  readonly tokens: number;
}

/** Returns the use of a bucket now. If it was counted too far in the future, it is reset (`accounting/counts/counted-since.ts`). */
function usedNow({ state, requestsMax, tokensMax }: Rate, nowMs: number): Used {
  if (isInFuture(state.countedAtMs, nowMs)) return { asOfMs: nowMs, requests: 0, tokens: 0 };
  const elapsedMs = nowMs - state.countedAtMs;
  return {
    asOfMs: Math.max(nowMs, state.countedAtMs),
    requests: requestsMax === null ? 0 : drained(state.requestsUsed, requestsMax, elapsedMs),
    tokens: tokensMax === null ? 0 : drained(state.tokensUsed, tokensMax, elapsedMs),
  };
}
