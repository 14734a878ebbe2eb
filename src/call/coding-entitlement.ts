import { factsText } from '../billing/holds.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import { totalTokens } from '../metering/usage-facts.ts';
import type { CodingVerdict } from '../plans/coding-call.ts';
import type { Plans } from '../plans/plans.ts';
import type { Turns } from '../plans/turns.ts';
import type { AdmissionRequest, Entitlement } from './entitlement.ts';
import { retryAfter, SOON } from './retry-after.ts';

export interface CodingEntitlementParts {
  readonly plans: Plans;
  readonly turns: Turns;
  readonly clock: Clock;
}

/** Calls that are counted against the account's Coding Plan, and never against its balance. */
export function codingEntitlement({ plans, turns, clock }: CodingEntitlementParts): Entitlement {
  async function ask(request: AdmissionRequest): Promise<CodingVerdict> {
    const { accountId, keyId, callId, model, facts, inputBytes, outputTokensRequested } = request;
    const { holdTokens: reservedTokens, innerModels } = request;
    return plans.admit({
      accountId,
      keyId,
      callId,
      model,
      facts: factsText(facts),
      inputBytes,
      outputTokensRequested: outputTokensRequested ?? 0,
      reservedTokens,
      innerModels,
    });
  }

  /** At the concurrency limit a call may wait for its turn, where the plan says so; nobody overtakes those who wait. */
  async function askInTurn(request: AdmissionRequest): Promise<CodingVerdict> {
    const { accountId, settings, client } = request;
    const place = turns.arrive();
    const ahead = turns.limitsOf(accountId);
    let verdict = ahead === null ? await ask(request) : CONCURRENCY_LIMITED;
    if (verdict.code !== 'package_concurrency_limited') return verdict;
    const limits = ahead ?? settings.plans.find((plan) => plan.id === verdict.planId)?.queue ?? NO_QUEUE;
    const result = await turns.wait(accountId, limits, {
      place,
      async attempt() {
        verdict = await ask(request);
        return verdict.code !== 'package_concurrency_limited';
      },
      onGone: (listener) => client.onGone(listener),
    });
    // It was never let in, so another node may serve it as if it had not been here.
    if (result === 'closed') throw new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    return verdict;
  }

  return {
    async admit(request) {
      const verdict = await askInTurn(request);
      if (verdict.code !== 'admitted') throw codingRefusal(verdict, request, clock.nowMs());
      return verdict.callsLeft === null ? null : { calls: verdict.callsLeft };
    },
    ending({ outcome, counts }) {
      const tokens = counts && outcome.usage !== null ? totalTokens(outcome.usage) : 0;
      return { outcome: { ...outcome, chargeNano: null }, plan: { counts, tokens }, key: null };
    },
    ended({ outcome, counts }, _ended, before) {
      turns.ended(outcome.accountId);
      // A call that does not count gives its slot back.
      return before !== null && 'calls' in before && !counts ? { calls: before.calls + 1 } : before;
    },
  };
}

const CONCURRENCY_LIMITED: CodingVerdict = {
  code: 'package_concurrency_limited',
  freeAtMs: null,
  planId: null,
  callsLeft: null,
};
const NO_QUEUE = { length: 0, waitMs: 0 };

/** What a call is refused with that its plan does not let through. */
export function codingRefusal(
  { code, freeAtMs }: Pick<CodingVerdict, 'code' | 'freeAtMs'>,
  { terms }: Pick<AdmissionRequest, 'terms'>,
  nowMs: number,
): GatewayError {
  const status = terms.moneyStatus;
  const headers = freeAtMs === null ? {} : retryAfter(freeAtMs, nowMs);
  switch (code) {
    case 'package_expired':
      return new GatewayError('packageExpired', { status });
    case 'model_not_in_package':
      return new GatewayError('modelNotInPackage', { param: 'model' });
    case 'package_input_too_large':
      return new GatewayError('packageInputTooLarge');
    case 'package_output_limit_exceeded':
      return new GatewayError('packageOutputLimitExceeded');
    case 'package_5h_quota_exhausted':
      return new GatewayError('packageFiveHourQuotaExhausted', { headers });
    case 'package_weekly_quota_exhausted':
      return new GatewayError('packageWeeklyQuotaExhausted', { headers });
    case 'package_tokens_exhausted':
      return new GatewayError('packageTokensExhausted', { status, headers });
    case 'package_concurrency_limited':
      return new GatewayError('packageConcurrencyLimited', { headers: SOON });
    default:
      return new GatewayError('insufficientPackage', { status });
  }
}
