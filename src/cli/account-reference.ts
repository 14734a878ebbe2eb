import type { AdminClient } from '../api/management/admin-client.ts';
import type { AccountResponse } from '../api/management/wire.ts';
import { CliError } from './command.ts';
import { listUpTo } from './pages.ts';

/** So many accounts of one name are listed if it is ambiguous. */
const NAMED_MAX = 20;

/** The id of the account that an argument names: by its id, or by its name where only one account has it. */
export async function resolveAccount(admin: AdminClient, reference: string): Promise<string> {
  if (reference.startsWith('acct_')) return reference;
  const named = await listUpTo<AccountResponse>(admin, '/accounts', { name: reference }, String(NAMED_MAX));
  if (named.length === 1) return named[0]!.id;
  throw new CliError(
    named.length === 0
      ? `There is no account called "${reference}". See: faregate account list`
      : `${named.length === NAMED_MAX ? 'Many' : named.length} accounts are called "${reference}"; use an id: ${named.map(({ id }) => id).join(', ')}`,
  );
}
