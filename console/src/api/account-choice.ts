import { createContext, useContext } from 'react';

/** Which of the accounts of the person is looked at; `null` if the person has none. */
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
