import { type CallOutcome, hasBegun } from '../billing/holds.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { KeyLimiter } from '../key-limits/key-limits.ts';
import type { LimitVerdict } from '../key-limits/store.ts';
import type { Logger } from '../lib/logger.ts';
import type { AdmissionRequest, Entitlement, Left } from './entitlement.ts';
import { retryAfter, SOON } from './retry-after.ts';

/** An entitlement of which a key may be limited to a part: the key's limits are checked first, and given back with it. */
export function limitedByKey(entitlement: Entitlement, keys: KeyLimiter, logger: Logger): Entitlement {
  /** Calls in flight that their key's limits let through. */
  const limited = new Set<string>();

  async function end(call: { accountId: string; callId: string }, counts: boolean, chargeNano: bigint): Promise<void> {
    if (!limited.delete(call.callId)) return;
    const { accountId, callId } = call;
    await keys.end({ accountId, callId, counts, chargeNano }).catch((error: unknown) => {
      // It is given back in the background; the call itself has ended as it should.
      logger.error({ err: error, callId }, 'the limits of a key could not be updated');
    });
  }

  return {
    async admit(request) {
      const { accountId, keyId, callId, terms, isKeyLimited, holdNano } = request;
      if (!isKeyLimited) return entitlement.admit(request);
      const amountNano = terms.context === 'balance' ? holdNano : null;
      const verdict = await keys.admit({ accountId, keyId, callId, amountNano });
      if (verdict !== 'admitted') throw refusal(verdict, request);
      limited.add(callId);
      try {
        return await entitlement.admit(request);
      } catch (error) {
        await end(request, false, 0n);
        throw error;
      }
    },
    async end(outcome: CallOutcome, before) {
      const isCharged = outcome.context === 'balance' && outcome.chargeNano !== null;
      let left: Left;
      try {
        left = await entitlement.end(outcome, before);
      } catch (error) {
        await end(outcome, false, 0n);
        throw error;
      }
      await end(outcome, hasBegun(outcome), isCharged ? outcome.chargeNano! : 0n);
      return left;
    },
  };
}

function refusal(verdict: Exclude<LimitVerdict, 'admitted'>, request: AdmissionRequest): GatewayError {
  const { settings, startedAtMs } = request;
  const headers = retryAfter(settings.localTime.nextDayStartMs(startedAtMs), startedAtMs);
  switch (verdict) {
    case 'spend_limited':
      return new GatewayError('keySpendLimitReached', { headers });
    case 'calls_limited':
      return new GatewayError('keyCallsLimitReached', { headers });
    case 'concurrency_limited':
      return new GatewayError('keyConcurrencyLimited', { headers: SOON });
  }
}
