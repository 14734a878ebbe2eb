import type { Account, AccountStore } from '../../accounting/accounts/store.ts';
import { orNotFound } from '../management/endpoint.ts';

/** @throws GatewayError 404 if there is no such account. */
export async function requireAccount(accounts: Pick<AccountStore, 'findAccount'>, id: string): Promise<Account> {
  return orNotFound(await accounts.findAccount(id), 'account', id);
}
