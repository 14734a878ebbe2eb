import { type AccountAdminParts, accountReader } from '../admin/accounts.ts';
import { accountAnswer } from '../admin/wire.ts';
import { type AccountEndpoint, accountEndpoint } from './endpoint.ts';

export type OwnAccountParts = Pick<AccountAdminParts, 'accounts' | 'ledger' | 'rateLimits' | 'today'>;

/** The account itself. */
export function ownAccountEndpoints(parts: OwnAccountParts): AccountEndpoint[] {
  const { read } = accountReader(parts);
  return [
    accountEndpoint({
      method: 'GET',
      path: '/account',
      summary: 'Read the account: balance, what is held and spent today, caps',
      needs: 'member',
      answer: accountAnswer,
      run: (_input, { scope }) => read(scope.accountId),
    }),
  ];
}
