import { GatewayError } from '../errors/gateway-error.ts';
import type { KeyLimiter } from '../key-limits/key-limits.ts';
import type { LimitVerdict } from '../key-limits/store.ts';
import type { Logger } from '../lib/logger.ts';
import type { AdmissionRequest, Entitlement } from './entitlement.ts';
import { retryAfter, SOON } from './retry-after.ts';

/** An entitlement of which a key may be limited to a part: the key's limits are checked first, and given back with it. */
export function limitedByKey(entitlement: Entitlement, keys: KeyLimiter, logger: Logger): Entitlement {
  return {
    async admit(request) {
      const { accountId, keyId, callId, terms, isKeyLimited, holdNano } = request;
      if (!isKeyLimited) return entitlement.admit(request);
      const amountNano = terms.context === 'balance' ? holdNano : null;
      const verdict = await keys.admit({ accountId, keyId, callId, amountNano });
      if (verdict !== 'admitted') throw keyRefusal(verdict, request);
      try {
        return await entitlement.admit(request);
      } catch (error) {
        await keys.end({ accountId, callId, counts: false, chargeNano: 0n }).catch((failure: unknown) => {
          logger.warn({ err: failure, callId }, 'the limits of a key could not be given back yet');
          keys.abandon(request);
        });
        throw error;
      }
    },
    ending(call) {
      const ending = entitlement.ending(call);
      if (!call.isKeyLimited) return ending;
      return { ...ending, key: { counts: call.counts, chargeNano: ending.outcome.chargeNano ?? 0n } };
    },
    ended: (call, ended, before) => entitlement.ended(call, ended, before),
  };
}

/** What a call is refused with that the limits of its key do not let through. */
export function keyRefusal(
  verdict: Exclude<LimitVerdict, 'admitted'>,
  request: Pick<AdmissionRequest, 'settings' | 'startedAtMs'>,
): GatewayError {
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
