import type { Billing } from '../billing/billing.ts';
import { factsText } from '../billing/holds.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Entitlement, Left } from './entitlement.ts';
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
      switch (verdict) {
        case 'admitted':
          return leftOf(availableNano);
        case 'unknown_account':
          throw new GatewayError('invalidApiKey');
        case 'insufficient_balance':
          throw new GatewayError('insufficientBalance', { status: terms.moneyStatus });
        case 'daily_limit_exceeded': {
          const headers = retryAfter(settings.localTime.nextDayStartMs(startedAtMs), startedAtMs);
          throw new GatewayError('balanceDailyLimitExceeded', { headers });
        }
      }
    },
    ending: ({ outcome }) => ({ outcome, plan: null, key: null, kept: null }),
    ended: (_outcome, { availableNano }, before) => leftOf(availableNano) ?? before,
  };
}

function leftOf(availableNano: bigint | null): Left {
  return availableNano === null ? null : { availableNano };
}
