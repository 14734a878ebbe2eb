import type { Clock } from '../../lib/clock.ts';
import type { LedgerStore, LedgerTerms } from '../ledger/ledger-store.ts';
import type { Principals } from './principals.ts';
import type { RateLimitChange, RateLimitStore } from './rate-limit-store.ts';
import type { AccountFields, AccountStore } from './store.ts';

interface AccountChange extends LedgerTerms {
  readonly fields?: AccountFields | undefined;
  readonly rates?: RateLimitChange | undefined;
}

interface AccountChangesDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount' | 'updateAccount'>;
  readonly ledger: Pick<LedgerStore, 'setTerms'>;
  readonly rateLimits: Pick<RateLimitStore, 'change'>;
  readonly principals: Pick<Principals, 'forget'>;
  readonly clock: Clock;
}

export type AccountChanges = ReturnType<typeof createAccountChanges>;

export function createAccountChanges({ accounts, ledger, rateLimits, principals, clock }: AccountChangesDependencies) {
  return {
    /** Changes an account. Returns `too_many_models`, and changes nothing, if the new rate limits would name too many models. */
    async change(
      accountId: string,
      { fields, rates, ...terms }: AccountChange,
    ): Promise<'done' | 'absent' | 'too_many_models'> {
      // Rate limits are changed first: the update of the account notifies the nodes, which then read all changes.
      if (rates !== undefined) {
        if ((await accounts.findAccount(accountId)) === null) return 'absent';
        if ((await rateLimits.change({ accountId, keyId: null }, rates)) === 'too_many') return 'too_many_models';
      }
      if (fields !== undefined || rates !== undefined) {
        const changed = await accounts.updateAccount(accountId, fields ?? {}, new Date(clock.nowMs()));
        if (changed === null) return 'absent';
        principals.forget(accountId);
      }
      if (Object.values(terms).some((value) => value !== undefined)) await ledger.setTerms(accountId, terms);
      return 'done';
    },
  };
}
