import type { Billing } from '../billing/billing.ts';
import { type AdmissionVerdict, factsText } from '../billing/holds.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { AdmissionRequest, Entitlement, Left } from './entitlement.ts';
import { retryAfter } from './retry-after.ts';

/** Calls that draw on the prepaid balance. */
export function balanceEntitlement(billing: Billing): Entitlement {
  return {
    async admit({ accountId, keyId, callId, model, facts, holdNano, startedAtMs, terms, settings }) {
      const { verdict, availableNano } = await billing.admit({
        accountId,
        callId,
        amountNano: holdNano,
        keyId,
        model,
        facts: factsText(facts),
        heldAtMs: startedAtMs,
      });
      if (verdict !== 'admitted') throw balanceRefusal(verdict, { terms, settings, startedAtMs });
      return leftOf(availableNano);
    },
    ending: ({ outcome }) => ({ outcome, plan: null, key: null }),
    ended: (_call, { availableNano }, before) => leftOf(availableNano) ?? before,
  };
}

/** What a call is refused with that its balance does not let through. */
export function balanceRefusal(
  verdict: Exclude<AdmissionVerdict, 'admitted'>,
  { terms, settings, startedAtMs }: Pick<AdmissionRequest, 'terms' | 'settings' | 'startedAtMs'>,
): GatewayError {
  switch (verdict) {
    case 'unknown_account':
      return new GatewayError('invalidApiKey');
    case 'insufficient_balance':
      return new GatewayError('insufficientBalance', { status: terms.moneyStatus });
    case 'daily_limit_exceeded': {
      const headers = retryAfter(settings.localTime.nextDayStartMs(startedAtMs), startedAtMs);
      return new GatewayError('balanceDailyLimitExceeded', { headers });
    }
  }
}

function leftOf(availableNano: bigint | null): Left {
  return availableNano === null ? null : { availableNano };
}
