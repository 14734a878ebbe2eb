import type { Command } from 'commander';
import type { AdminClient } from '../../api/management/admin-client.ts';
import type { LinkResponse, UserResponse } from '../../api/sessions/wire.ts';
import type { LinkedUser } from '../../api/users/admin.ts';
import { resolveAccount } from '../account-reference.ts';
import { type CommandKit, type CommandOptions, UsageError } from '../command.ts';
import { localTime } from '../local-time.ts';
import type { Output } from '../output.ts';
import { listAll } from '../pages.ts';
import { queryOf } from '../query.ts';
import { printTable, renderFields } from '../table.ts';
import { resolveUser, USER_ARGUMENT } from '../user-reference.ts';

/** `faregate user …` */
export function userCommands(program: Command, kit: CommandKit): void {
  const user = program
    .command('user')
    .description('create, list and suspend people who sign in: operators, auditors, and the people of accounts');

  user
    .command('create')
    .description('create a user, and print the link by which the person chooses a password; it works once, for 7 days')
    .argument('<name>', 'what to call the person')
    .option('--email <address>', 'what the person signs in with (default: the name)')
    .option('--operator', 'the person may do everything in the admin API')
    .option('--auditor', 'the person may read everything in the admin API')
    .option('--account <account>', 'the person belongs to this account: id or name')
    .option('--role <role>', 'in that account: owner or member (default: member)')
    .action(
      kit.changing(async (admin, output, [name], options) => {
        const operatorRole = roleOf(options);
        const memberships = await membershipsOf(admin, options);
        const body = { name, email: options.email, operatorRole, memberships };
        const created = await admin.request<LinkedUser>('POST', '/users', body);
        output.print(created, () => `${describeUser(created)}\n\n${describeLink(created)}`);
      }),
    );

  user
    .command('list')
    .description('list users, newest first')
    .option('--search <text>', 'only those whose name, e-mail or id has this text')
    .option('--operators', 'only operators and auditors')
    .action(
      kit.reading(async (admin, output, _arguments, options) => {
        const query = await queryOf(admin, options, ['search', 'operators']);
        const users = await listAll<UserResponse>(admin, '/users', query);
        printTable(output, users, 'There are no users. Create one: faregate user create <name> --operator', [
          { title: 'id', cell: (row) => row.id },
          { title: 'name', cell: (row) => row.name },
          { title: 'e-mail', cell: (row) => row.email ?? '' },
          { title: 'operator', cell: (row) => row.operatorRole ?? '' },
          { title: 'accounts', cell: (row) => row.memberships.map(({ accountName }) => accountName).join(', ') },
          { title: 'status', cell: statusOf },
          { title: 'signed in', cell: (row) => localTime(row.lastSignInAt ?? 'never') },
        ]);
      }),
    );

  const ofUser = (name: string, description: string): Command =>
    user
      .command(name)
      .description(description)
      .argument(...USER_ARGUMENT);

  ofUser('show', 'show a user with its accounts').action(
    kit.reading(async (admin, output, [reference]) => {
      const id = await resolveUser(admin, reference!);
      output.print(await admin.request<UserResponse>('GET', `/users/${id}`), describeUser);
    }),
  );

  const changing = (change: object) =>
    kit.changing((admin, output, [reference]) => changeUser(admin, output, reference!, change));
  ofUser('suspend', 'sign a user out everywhere, and let it sign in no more').action(changing({ status: 'suspended' }));
  ofUser('resume', 'let a suspended user sign in again').action(changing({ status: 'active' }));

  ofUser(
    'confirm',
    'confirm a user that a token made, so that it is not suspended when the token is revoked or expires',
  ).action(
    kit.changing(async (admin, output, [reference]) => {
      const id = await resolveUser(admin, reference!);
      output.print(await admin.request<UserResponse>('POST', `/users/${id}/confirm`), describeUser);
    }),
  );

  ofUser('role', 'make a user an operator or an auditor, or neither')
    .argument('<role>', 'operator, auditor or none')
    .action(
      kit.changing((admin, output, [reference, role]) =>
        changeUser(admin, output, reference!, { operatorRole: role === 'none' ? null : role }),
      ),
    );

  ofUser(
    'reset',
    'print a link by which a user chooses a new password; it works once, for an hour. Earlier links are void, the password ' +
      'stays until then',
  ).action(
    kit.changing(async (admin, output, [reference]) => {
      const id = await resolveUser(admin, reference!);
      output.print({ id, ...(await admin.request<LinkResponse>('POST', `/users/${id}/links`)) }, describeLink);
    }),
  );

  ofUser('sign-out', 'end all sessions of a user; it may sign in again').action(
    kit.changing(async (admin, output, [reference]) => {
      const id = await resolveUser(admin, reference!);
      await admin.request('DELETE', `/users/${id}/sessions`);
      output.print({ id, signedOut: true }, () => `Ended all sessions of ${id}.`);
    }),
  );

  ofUser('delete', 'delete a user; its accounts, their keys and money stay').action(
    kit.changing(async (admin, output, [reference]) => {
      const id = await resolveUser(admin, reference!);
      await admin.request('DELETE', `/users/${id}`);
      output.print({ id, deleted: true }, () => `Deleted ${id}.`);
    }),
  );
}

/** @throws UsageError if it is both. */
function roleOf({ operator, auditor }: CommandOptions): 'operator' | 'auditor' | null {
  if (operator === true && auditor === true) throw new UsageError('Choose --operator or --auditor.');
  if (operator === true) return 'operator';
  return auditor === true ? 'auditor' : null;
}

/** @throws UsageError if there is a role of no account. */
async function membershipsOf(admin: AdminClient, { account, role }: CommandOptions): Promise<object[]> {
  if (account === undefined && role !== undefined) throw new UsageError('--role is that in an account: add --account.');
  if (account === undefined) return [];
  return [{ accountId: await resolveAccount(admin, String(account)), role: role ?? 'member' }];
}

async function changeUser(admin: AdminClient, output: Output, reference: string, change: object): Promise<undefined> {
  const id = await resolveUser(admin, reference);
  output.print(await admin.request<UserResponse>('PATCH', `/users/${id}`, change), describeUser);
}

function describeUser(user: UserResponse): string {
  return renderFields([
    ['id', user.id],
    ['name', user.name],
    ['e-mail', user.email ?? 'none: signs in with the name'],
    ['operator', user.operatorRole ?? 'no'],
    ['status', statusOf(user)],
    ...(user.unconfirmedTokenId === null
      ? []
      : [['ends with', `the token ${user.unconfirmedTokenId}, unless confirmed`] as [string, string]]),
    ['created', localTime(user.createdAt)],
    ['signed in', localTime(user.lastSignInAt ?? 'never')],
    ...user.memberships.map(
      ({ accountId, accountName, role }) => [role, `${accountName} (${accountId})`] as [string, string],
    ),
  ]);
}

function describeLink({ link, linkExpiresAt, linkHint }: LinkResponse): string {
  const hint = linkHint === null ? '' : `\n${linkHint}`;
  return `${link}\n\nThe link works once, until ${localTime(linkExpiresAt)}. This is the only time that it is shown.${hint}`;
}

function statusOf({ status, hasPassword }: UserResponse): string {
  return status === 'active' && !hasPassword ? 'has no password yet' : status;
}
