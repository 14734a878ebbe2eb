import { useAccountChoice } from '../api/account-choice.ts';
import { useRead } from '../api/queries.ts';

/** The names of the people of the account, by their ids. */
export type People = ReadonlyMap<string, string>;

/** An account has as many people at most. */
const PEOPLE_MAX = 200;

/** Whose keys there may be; `null` for members, who see none of others. */
export function usePeople(): People | null {
  const isOwner = useAccountChoice().role === 'owner';
  const { data } = useRead('GET /account/v1/members', { query: { limit: PEOPLE_MAX } }, { isWanted: isOwner });
  if (!isOwner) return null;
  return new Map(data?.data.map(({ userId, name }) => [userId, name]));
}
