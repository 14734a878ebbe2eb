import { createContext, useContext } from 'react';

/** The selected account. Both members are `null` if the user belongs to no account. */
export interface AccountChoice {
  readonly accountId: string | null;
  readonly role: 'owner' | 'member' | null;
  choose(accountId: string): void;
}

export const AccountChoiceContext = createContext<AccountChoice>({
  accountId: null,
  role: null,
  choose: () => undefined,
});

export function useAccountChoice(): AccountChoice {
  return useContext(AccountChoiceContext);
}
