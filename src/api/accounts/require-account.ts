import type { Account, AccountStore } from '../../accounting/accounts/store.ts';
import { notFound } from '../management/endpoint.ts';

/** @throws GatewayError 404 if there is no such account. */
export async function requireAccount(accounts: Pick<AccountStore, 'findAccount'>, id: string): Promise<Account> {
  const account = await accounts.findAccount(id);
  if (account === null) throw notFound('account', id);
  return account;
}
