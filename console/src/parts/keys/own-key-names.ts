import { useMemo } from 'react';
import { useRead } from '../../api/queries.ts';

/** The names of the account's keys by their ids: of the newest 500, which is more than people tell apart. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const keys = useRead('GET /account/v1/keys', { query: { limit: 500 } }).data?.data;
  return useMemo(() => new Map(keys?.map(({ id, name, prefix }) => [id, name ?? prefix])), [keys]);
}
