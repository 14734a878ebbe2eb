import { useMemo } from 'react';
import { useRead } from '../../api/queries.ts';

/** Names of the account's newest 500 keys by id. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const keys = useRead('GET /account/v1/keys', { query: { limit: 500 } }).data?.data;
  return useMemo(() => new Map(keys?.map(({ id, name, prefix }) => [id, name ?? prefix])), [keys]);
}
