import type { Account, AccountStore } from '../../accounting/accounts/store.ts';
import { orNotFound } from '../management/endpoint.ts';

export async function requireAccount(accounts: Pick<AccountStore, 'findAccount'>, id: string): Promise<Account> {
  return orNotFound(await accounts.findAccount(id), 'account', id);
}
