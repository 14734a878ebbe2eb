import type { AdminClient } from '../api/management/admin-client.ts';
import type { Page } from '../api/management/response-fields.ts';
import type { UserResponse } from '../api/sessions/wire.ts';
import { CliError } from './command.ts';

/** The argument of commands that `resolveUser` reads. */
export const USER_ARGUMENT = ['<user>', 'id, e-mail address, or the name of somebody without one'] as const;

/** The id of the user that an argument names: by its id, or by what the person signs in with. */
export async function resolveUser(admin: AdminClient, reference: string): Promise<string> {
  if (/^usr_[0-9a-z]+$/.test(reference)) return reference;
  const query = new URLSearchParams({ signInName: reference });
  const { data } = await admin.request<Page<UserResponse>>('GET', `/users?${query}`);
  if (data[0] !== undefined) return data[0].id;
  throw new CliError(`Nobody signs in as "${reference}". See: faregate user list --search <part of the name>`);
}
