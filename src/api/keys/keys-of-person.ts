import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';
import { EVERYBODY, type OwnedBy } from '../../accounting/calls/calls-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { AccountScope } from '../../people/access.ts';

type Keys = Pick<ApiKeyStore, 'findOwnKeyIds'>;

/** Returns whose resources an actor may read: those of its account or, with `userId`, of the keys of that user. */
export async function ownedInScope(
  keys: Keys,
  { accountId, ownUserId }: AccountScope,
  userId: string | undefined,
): Promise<OwnedBy> {
  const seen = userId ?? ownUserId;
  if (seen === null) return { accountId, keyIds: null };
  const isSeen = ownUserId === null || seen === ownUserId;
  return { accountId, keyIds: isSeen ? await keys.findOwnKeyIds(accountId, seen) : [] };
}

/** Returns whose resources an operator asks for: all, or those of the keys of one user. */
export async function ownedByPerson(
  keys: Keys,
  { accountId, userId }: { readonly accountId?: string | undefined; readonly userId?: string | undefined },
): Promise<OwnedBy> {
  if (userId === undefined) return EVERYBODY;
  if (accountId === undefined) {
    throw invalidRequest('userId: Send accountId too, because a user may have keys in several accounts.', 'userId');
  }
  return { accountId, keyIds: await keys.findOwnKeyIds(accountId, userId) };
}
