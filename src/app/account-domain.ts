import { randomFillSync } from 'node:crypto';
import { createAccountChanges } from '../accounting/accounts/account-changes.ts';
import { createKeys } from '../accounting/accounts/keys.ts';
import type { Principals } from '../accounting/accounts/principals.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Accounting } from './accounting.ts';

type Stores = Pick<Accounting['admin'], 'accounts' | 'keyLimits' | 'keyReplacements' | 'rateLimits' | 'ledger'>;

interface AccountDomainParts {
  readonly principals: Pick<Principals, 'forget'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Wires what both management APIs do to accounts and their keys. */
export function createAccountDomain(stores: Stores, parts: AccountDomainParts) {
  return {
    keys: createKeys({ ...stores, ...parts, fillRandom: randomFillSync }),
    accountChanges: createAccountChanges({ ...stores, ...parts }),
  };
}
