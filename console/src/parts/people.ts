import { useAccountChoice } from '../api/account-choice.ts';
import { useRead } from '../api/queries.ts';

/** Names of the account's members by user id. */
export type People = ReadonlyMap<string, string>;

/** The maximum number of members of an account. */
const PEOPLE_MAX = 200;

/** Possible owners of keys; `null` for members, who see only their own keys. */
export function usePeople(): People | null {
  const isOwner = useAccountChoice().role === 'owner';
  const { data } = useRead('GET /account/v1/members', { query: { limit: PEOPLE_MAX } }, { isWanted: isOwner });
  if (!isOwner) return null;
  return new Map(data?.data.map(({ userId, name }) => [userId, name]));
}
