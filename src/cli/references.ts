import type { AdminClient } from '../api/management/admin-client.ts';
import { AdminClientError } from '../api/management/admin-client-error.ts';
import type { Page } from '../api/management/response-fields.ts';
import type { AccountResponse } from '../api/management/wire.ts';
import type { UserResponse } from '../api/sessions/wire.ts';
import type { TokenResponse } from '../api/tokens/admin.ts';
import { didYouMean } from '../config/suggest.ts';
import { NotFoundError, UsageError } from './command.ts';
import { listAll, listUpTo } from './pages.ts';

/** Maximum number of accounts that an error lists. */
const NAMED_MAX = 20;

/** Adds `accountId`, `userId` and `tokenId`: the ids of what `account`, `user` and `token` name. */
export async function withIds(admin: AdminClient, given: Readonly<Record<string, unknown>>) {
  const ids: Record<string, string> = {};
  for (const [name, idOf] of Object.entries(REFERENCES)) {
    if (given[name] !== undefined) ids[`${name}Id`] = await idOf(admin, String(given[name]));
  }
  return { ...given, ...ids };
}

const REFERENCES = { account: accountIdOf, user: userIdOf, token: tokenIdOf };

/** Returns the id of an account, by its id or by a name that no other account has. */
async function accountIdOf(admin: AdminClient, reference: string): Promise<string> {
  if (reference.startsWith('acct_')) return reference;
  const named = await listUpTo<AccountResponse>(admin, '/accounts', { name: reference }, String(NAMED_MAX));
  if (named.length === 1) return named[0]!.id;
  if (named.length === 0) {
    const similar = await similarTo<AccountResponse>(admin, '/accounts', reference, ({ name }) => name);
    throw new NotFoundError(`There is no account called "${reference}".${similar} See: faregate account list`);
  }
  throw new UsageError(
    `${named.length === NAMED_MAX ? 'Many' : named.length} accounts are called "${reference}"; use an id: ${named.map(({ id }) => id).join(', ')}`,
  );
}

/** Returns the id of a user, by the id or by what the user signs in with. */
export async function userIdOf(admin: AdminClient, reference: string): Promise<string> {
  if (/^usr_[0-9a-z]+$/.test(reference)) return reference;
  const query = new URLSearchParams({ signInName: reference });
  const { data } = await admin.request<Page<UserResponse>>('GET', `/users?${query}`);
  if (data[0] !== undefined) return data[0].id;
  const similar = await similarTo<UserResponse>(admin, '/users', reference, ({ email, name }) => email ?? name);
  throw new NotFoundError(
    `Nobody signs in as "${reference}".${similar} See: faregate user list --search <part of the name>`,
  );
}

/** Returns the id of an admin token, by its id or, if it is not revoked, by its name. */
async function tokenIdOf(admin: AdminClient, reference: string): Promise<string> {
  if (/^tok_[0-9a-z]+$/.test(reference)) return reference;
  const tokens = (await listAll<TokenResponse>(admin, '/tokens', {})).filter(({ revokedAt }) => revokedAt === null);
  const found = tokens.find(({ name }) => name === reference);
  if (found !== undefined) return found.id;
  const similar = didYouMean(
    reference,
    tokens.map(({ name }) => name),
  );
  throw new NotFoundError(`There is no token "${reference}".${similar} "faregate token list" shows all.`);
}

/** Length of a page in which a similar name is searched. */
const SEARCHED_MAX = '200';
/** Number of characters at the beginning or the end that a searched name has in common with the given one. */
const SAME_CHARS = 3;

/**
 * Like `didYouMean`, for names of a list that can be long. Reads three pages of it: the newest items, and those that contain the beginning
 * or the end of the name.
 */
async function similarTo<Item>(
  admin: AdminClient,
  path: string,
  misspelt: string,
  nameOf: (item: Item) => string,
): Promise<string> {
  const parts = new Set([misspelt.slice(0, SAME_CHARS), misspelt.slice(-SAME_CHARS)]);
  const searches = [{}, ...[...parts].filter((part) => part.trim() !== '').map((search) => ({ search }))];
  try {
    const found = await Promise.all(
      searches.map((search) => {
        const query = new URLSearchParams({ ...search, limit: SEARCHED_MAX });
        return admin.request<Page<Item>>('GET', `${path}?${query}`);
      }),
    );
    return didYouMean(
      misspelt,
      found.flatMap(({ data }) => data.map(nameOf)),
    );
  } catch (error) {
    if (error instanceof AdminClientError) return '';
    throw error;
  }
}
