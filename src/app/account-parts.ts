import type { VoucherGuesses } from '../accounting/vouchers/guess-limit.ts';
import type { AccountParts } from '../api/registers/account.ts';
import type { createAdminParts } from './admin-parts.ts';
import type { People } from './people.ts';

/** Wires what the account API of a gateway reads and changes. */
export function createAccountParts(
  parts: ReturnType<typeof createAdminParts>,
  people: People,
  voucherGuesses: VoucherGuesses,
): AccountParts {
  const { accounts, calls, webhooks } = parts;
  return {
    ...people,
    ...parts,
    voucherGuesses,
    owners: {
      async key(id) {
        const key = await accounts.findKey(id);
        return key && { accountId: key.accountId, userId: key.userId };
      },
      async webhook(id) {
        const endpoint = await webhooks.find(id);
        return endpoint?.accountId == null ? null : { accountId: endpoint.accountId, userId: null };
      },
      async call(id) {
        const call = await calls.find(id);
        const key = call && (await accounts.findKey(call.keyId));
        return call && { accountId: call.accountId, userId: key?.userId ?? null };
      },
    },
  };
}
