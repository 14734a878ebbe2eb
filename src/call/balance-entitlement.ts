import type { Billing } from '../billing/billing.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Entitlement } from './entitlement.ts';

/** Calls that draw on the prepaid balance. */
export function balanceEntitlement(billing: Billing): Entitlement {
  return {
    async admit({ accountId, keyId, callId, model, holdNano, startedAtMs, terms, settings }) {
      const verdict = await billing.admit({
        accountId,
        callId,
        amountNano: holdNano,
        keyId,
        model,
        heldAtMs: startedAtMs,
      });
      switch (verdict) {
        case 'admitted':
          return;
        case 'unknown_account':
          throw new GatewayError('invalidApiKey');
        case 'insufficient_balance':
          throw new GatewayError('insufficientBalance', { status: terms.moneyStatus });
        case 'daily_limit_exceeded': {
          const seconds = Math.ceil((settings.localTime.nextDayStartMs(startedAtMs) - startedAtMs) / 1_000);
          throw new GatewayError('balanceDailyLimitExceeded', { headers: { 'retry-after': String(seconds) } });
        }
      }
    },
    end: (outcome) => billing.end(outcome),
  };
}
