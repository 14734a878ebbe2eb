import type { ApiKeyStore } from '../../accounting/accounts/api-key-store.ts';
import { EVERYBODY, type OwnedBy } from '../../accounting/calls/calls-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { AccountScope } from '../../people/access.ts';

type Keys = Pick<ApiKeyStore, 'findOwnKeyIds'>;

/** What of an account somebody sees, or of that what a person of the account has asked for by their keys. */
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

/** The same for operators, who see everything. @throws GatewayError `invalidRequest` if a person is named without the account. */
export async function ownedByPerson(
  keys: Keys,
  { accountId, userId }: { readonly accountId?: string | undefined; readonly userId?: string | undefined },
): Promise<OwnedBy> {
  if (userId === undefined) return EVERYBODY;
  if (accountId === undefined) {
    throw invalidRequest('userId: Send the accountId too: a person may have keys in several accounts.', 'userId');
  }
  return { accountId, keyIds: await keys.findOwnKeyIds(accountId, userId) };
}
