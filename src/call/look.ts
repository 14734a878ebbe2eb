import type { BalanceLook } from '../billing/balance-look.ts';
import type { KeyLook } from '../key-limits/key-look.ts';
import type { Clock } from '../lib/clock.ts';
import type { PlanLook } from '../plans/plan-look.ts';
import { balanceRefusal } from './balance-entitlement.ts';
import { codingRefusal } from './coding-entitlement.ts';
import type { AdmissionRequest } from './entitlement.ts';
import { keyRefusal } from './key-entitlement.ts';

/** What is known of a call before its body has been read. */
export type LookRequest = Pick<AdmissionRequest, 'accountId' | 'keyId' | 'isKeyLimited' | 'terms' | 'settings'>;

/**
 * Looks at what a call would be admitted on, before its body is read. Nothing is held, and no limit changes.
 *
 * @throws GatewayError as the call's admission would now, where it would whatever the body says.
 */
export type CallLook = (request: LookRequest) => Promise<void>;

export interface CallLookParts {
  readonly keys: KeyLook;
  readonly balances: BalanceLook;
  readonly plans: PlanLook;
  readonly clock: Clock;
}

export function createCallLook({ keys, balances, plans, clock }: CallLookParts): CallLook {
  return async function look(request) {
    const { accountId, keyId, isKeyLimited, terms } = request;
    const startedAtMs = clock.nowMs();
    const refused = { ...request, startedAtMs };
    if (isKeyLimited) {
      const verdict = await keys({ accountId, keyId }, terms.context === 'balance');
      if (verdict !== 'admitted') throw keyRefusal(verdict, refused);
    }
    if (terms.context === 'balance') {
      const verdict = await balances(accountId);
      if (verdict !== 'admitted') throw balanceRefusal(verdict, refused);
    } else {
      const verdict = await plans(accountId);
      if (verdict.code !== 'admitted') throw codingRefusal(verdict, refused, startedAtMs);
    }
  };
}
