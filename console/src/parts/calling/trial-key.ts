import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAccountChoice } from '../../api/account-choice.ts';

export const KEY_PLACEHOLDER = 'sk-fg-…';

/**
 * The key of a page that makes calls. A one-hour key that another page has created is used at once. It is in the memory of the console
 * only, which a sign-out clears.
 */
export function useTrialKey() {
  const queries = useQueryClient();
  const { accountId } = useAccountChoice();
  const queryKey = ['trial key', accountId];
  const { data: trialKey = null } = useQuery<string>({ queryKey, queryFn: skipToken, gcTime: HOUR_MS });
  const [key, setKey] = useState(trialKey ?? '');
  return {
    trialKey,
    /** Remembers a new key for other pages. */
    keep: (made: string): void => {
      queries.setQueryData(queryKey, made);
    },
    /** The entered or created key; empty: none. */
    key,
    setKey,
  };
}

const HOUR_MS = 3_600_000;
