import type { AdminClient } from '../api/management/admin-client.ts';
import type { Page } from '../api/management/response-fields.ts';
import type { AccountResponse } from '../api/management/wire.ts';
import type { UserResponse } from '../api/sessions/wire.ts';
import type { TokenResponse } from '../api/tokens/admin.ts';
import { CliError } from './command.ts';
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
  throw new CliError(
    named.length === 0
      ? `There is no account called "${reference}". See: faregate account list`
      : `${named.length === NAMED_MAX ? 'Many' : named.length} accounts are called "${reference}"; use an id: ${named.map(({ id }) => id).join(', ')}`,
  );
}

/** Returns the id of a user, by the id or by what the user signs in with. */
export async function userIdOf(admin: AdminClient, reference: string): Promise<string> {
  if (/^usr_[0-9a-z]+$/.test(reference)) return reference;
  const query = new URLSearchParams({ signInName: reference });
  const { data } = await admin.request<Page<UserResponse>>('GET', `/users?${query}`);
  if (data[0] !== undefined) return data[0].id;
  throw new CliError(`Nobody signs in as "${reference}". See: faregate user list --search <part of the name>`);
}

/** Returns the id of an admin token, by its id or, if it is not revoked, by its name. */
async function tokenIdOf(admin: AdminClient, reference: string): Promise<string> {
  if (/^tok_[0-9a-z]+$/.test(reference)) return reference;
  const tokens = await listAll<TokenResponse>(admin, '/tokens', {});
  const found = tokens.find(({ name, revokedAt }) => name === reference && revokedAt === null);
  if (found === undefined) throw new CliError(`There is no token "${reference}"; "faregate token list" shows all.`);
  return found.id;
}
