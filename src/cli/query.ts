import type { AdminClient } from '../api/management/admin-client.ts';
import { resolveAccount } from './account-reference.ts';
import type { CommandOptions } from './command.ts';

/** The members of a query that options say: those of these names, and the id of the account that `--account` names. */
export async function queryOf(
  admin: AdminClient,
  options: CommandOptions,
  names: readonly string[],
): Promise<Record<string, string>> {
  const query: Record<string, string> = {};
  if (options.account !== undefined) query.accountId = await resolveAccount(admin, String(options.account));
  for (const name of names) if (options[name] !== undefined) query[name] = String(options[name]);
  return query;
}
