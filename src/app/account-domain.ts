import { randomFillSync } from 'node:crypto';
import { createAccountChanges } from '../accounting/accounts/account-changes.ts';
import type { MemberLimitStore } from '../accounting/accounts/key-limit-store.ts';
import { createKeys } from '../accounting/accounts/keys.ts';
import type { Principals } from '../accounting/accounts/principals.ts';
import type { PlanTerms } from '../accounting/plans/plan.ts';
import { createPlanGrants } from '../accounting/plans/plan-grants.ts';
import { createVoucherRedeemer } from '../accounting/vouchers/voucher-redeemer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Accounting } from './accounting.ts';

type Stores = Pick<
  Accounting['admin'],
  | 'accounts'
  | 'keysWithLimits'
  | 'memberLimits'
  | 'keyReplacements'
  | 'rateLimits'
  | 'ledger'
  | 'subscriptions'
  | 'redemptions'
>;

interface AccountDomainParts {
  readonly principals: Pick<Principals, 'forget'>;
  /** The plans in force. */
  readonly plans: () => readonly PlanTerms[];
  readonly databaseNowMs: () => Promise<number>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Wires what both management APIs do to accounts, their keys and their plans. */
export function createAccountDomain(stores: Stores, parts: AccountDomainParts) {
  return {
    memberLimits: {
      ...stores.memberLimits,
      async change(...asked) {
        const changed = await stores.memberLimits.change(...asked);
        parts.principals.forget(asked[0]);
        return changed;
      },
    } satisfies MemberLimitStore,
    keys: createKeys({ ...stores, ...parts, fillRandom: randomFillSync }),
    accountChanges: createAccountChanges({ ...stores, ...parts }),
    planGrants: createPlanGrants({ ...stores, ...parts }),
    redeemer: createVoucherRedeemer({ ...stores, ...parts }),
  };
}
