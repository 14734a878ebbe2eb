import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { AccountChoiceContext } from '../api/account-choice.ts';
import { ApiError, ask } from '../api/client.ts';
import { againWhileAway } from '../api/queries.ts';
import type { WhoAmI } from '../api/types.ts';
import { TimezoneProvider } from '../text/timezone.tsx';

/** Who has signed in. `useSession` may be used on all pages but those of signing in. */
export interface SessionState extends WhoAmI {
  signOut(): Promise<void>;
}

const Context = createContext<SessionState | null>(null);
const STORED_AS = 'faregate.account';

export const SESSION_KEY = ['session'] as const;

/** Nobody has signed in any more, though somebody had while this page was shown, who did not sign out here. */
export const SESSION_ENDED = 'ended';

type Session = WhoAmI | typeof SESSION_ENDED | null;

/** Reads who has signed in: `null` if nobody has. While the gateway is away it goes on trying. */
export function useSessionRead() {
  const queries = useQueryClient();
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: async (): Promise<Session> => {
      try {
        return await ask('GET /account/v1/session', {});
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
        return queries.getQueryData<Session>(SESSION_KEY) ? SESSION_ENDED : null;
      }
    },
    staleTime: 60_000,
    refetchInterval: againWhileAway(false),
  });
}

/** Says who has signed in now, `null`: nobody. Nothing of what somebody else has read may be shown to that person. */
export function changeSession(queries: QueryClient, whoAmI: WhoAmI | null): void {
  queries.setQueryData(SESSION_KEY, whoAmI);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}

/** Gives the pages below who has signed in, and the account that is looked at. */
export function SessionProvider({ whoAmI, children }: { readonly whoAmI: WhoAmI; readonly children: ReactNode }) {
  const queries = useQueryClient();
  const [wanted, setWanted] = useState(() => localStorage.getItem(STORED_AS));
  const session = useMemo<SessionState>(
    () => ({
      ...whoAmI,
      async signOut() {
        await ask('DELETE /account/v1/session', {});
        changeSession(queries, null);
      },
    }),
    [whoAmI, queries],
  );
  const choice = useMemo(() => {
    const membership = whoAmI.memberships.find(({ accountId }) => accountId === wanted) ?? whoAmI.memberships[0];
    return {
      accountId: membership?.accountId ?? null,
      role: membership?.role ?? null,
      choose(accountId: string) {
        localStorage.setItem(STORED_AS, accountId);
        setWanted(accountId);
      },
    };
  }, [whoAmI, wanted]);
  return (
    <Context value={session}>
      <AccountChoiceContext value={choice}>
        <TimezoneProvider billing={whoAmI.billingTimezone}>{children}</TimezoneProvider>
      </AccountChoiceContext>
    </Context>
  );
}

export function useSession(): SessionState {
  const session = useContext(Context);
  if (session === null) throw new Error('This page is shown to people who have signed in.');
  return session;
}
