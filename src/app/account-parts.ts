import type { AccountParts } from '../api/account/register.ts';
import type { AdminParts } from '../api/admin/register.ts';

/** Wires what the account API of a gateway reads and changes. */
export function createAccountParts(parts: AdminParts): AccountParts {
  const { accounts, calls } = parts;
  return {
    ...parts,
    owners: {
      async key(id) {
        const key = await accounts.findKey(id);
        return key && { accountId: key.accountId, userId: null };
      },
      async call(id) {
        const call = await calls.find(id);
        return call && { accountId: call.accountId, userId: null };
      },
    },
  };
}
