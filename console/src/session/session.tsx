import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { AccountChoiceContext } from '../api/account-choice.ts';
import { ApiError, ask } from '../api/client.ts';
import { againWhileAway } from '../api/queries.ts';
import type { WhoAmI } from '../api/types.ts';
import { TimezoneProvider } from '../text/timezone.tsx';

/** The signed-in user. `useSession` is available on all pages after sign-in. */
export interface SessionState extends WhoAmI {
  signOut(): Promise<void>;
}

const Context = createContext<SessionState | null>(null);
const STORED_AS = 'faregate.account';

export const SESSION_KEY = ['session'] as const;

/** The session ended while the console was open, without a sign-out here. */
export const SESSION_ENDED = 'ended';

type Session = WhoAmI | typeof SESSION_ENDED | null;

/** The session, or `null` without one. Retries while the gateway is down. */
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

/** Sets the session, or `null`. Clears everything else, so that no data of the previous user is shown. */
export function changeSession(queries: QueryClient, whoAmI: WhoAmI | null): void {
  queries.setQueryData(SESSION_KEY, whoAmI);
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}

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
