import type { Command } from 'commander';
import type { LinkResponse, UserResponse } from '../../api/sessions/wire.ts';
import type { LinkedUser } from '../../api/users/admin.ts';
import { UsageError } from '../command.ts';
import { addCommand, type CommandKit, type Given } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { columnsOf, fieldsOf, renderFields } from '../table.ts';

export function userCommands(program: Command, kit: CommandKit): void {
  const user = program
    .command('user')
    .description('create, list and suspend people who sign in: operators, auditors, and the people of accounts');

  addCommand(
    user,
    'create <name>',
    'create a user, and print the link with which the person chooses a password; it works once, for 7 days',
    { name: 'name of the person' },
  )
    .option('--email <address>', 'what the person signs in with (default: the name)')
    .option('--operator', 'the person may do everything in the admin API')
    .option('--auditor', 'the person may read everything in the admin API')
    .option('--account <account>', 'the person belongs to this account: id or name')
    .option('--role <role>', 'role in that account: owner or member (default: member)')
    .action(
      kit.sends<LinkedUser>('POST /users', {
        body: (given) => ({
          name: given.name,
          email: given.email,
          operatorRole: readOperatorRole(given),
          memberships: readMemberships(given),
        }),
        text: (created) => `${describeUser(created)}\n\n${describeLink(created)}`,
      }),
    );

  addCommand(user, 'list', 'list users, newest first')
    .option('--search <text>', 'only users whose name, e-mail or id contains this text')
    .option('--operators', 'only operators and auditors')
    .action(
      kit.lists<UserResponse>('/users', {
        filters: ['search', 'operators'],
        empty: 'There are no users. Create one: faregate user create <name> --operator',
        columns: [
          ...columnsOf<UserResponse>('id', 'name'),
          { title: 'e-mail', cell: (row) => row.email ?? '' },
          { title: 'operator', cell: (row) => row.operatorRole ?? '' },
          { title: 'accounts', cell: (row) => row.memberships.map(({ accountName }) => accountName).join(', ') },
          { title: 'status', cell: describeStatus },
          { title: 'signed in', cell: (row) => localTime(row.lastSignInAt ?? 'never') },
        ],
      }),
    );

  addCommand(user, 'show <user>', 'show a user with its accounts').action(
    kit.sends<UserResponse>('GET /users/:userId', { text: describeUser }),
  );

  const changes = (body: (given: Given) => object) =>
    kit.sends<UserResponse>('PATCH /users/:userId', { body, text: describeUser });

  addCommand(user, 'suspend <user>', 'end all sessions of a user, and refuse new ones').action(
    changes(() => ({ status: 'suspended' })),
  );

  addCommand(user, 'resume <user>', 'let a suspended user sign in again').action(changes(() => ({ status: 'active' })));

  addCommand(
    user,
    'confirm <user>',
    'confirm a user that a token created, so that it is not suspended when the token is revoked or expires',
  ).action(kit.sends<UserResponse>('POST /users/:userId/confirm', { text: describeUser }));

  addCommand(user, 'role <user> <role>', 'make a user an operator or an auditor, or neither', {
    role: 'operator, auditor or none',
  }).action(changes(({ role }) => ({ operatorRole: role === 'none' ? null : role })));

  addCommand(
    user,
    'reset <user>',
    'print a link with which a user chooses a new password; it works once, for an hour. Earlier links are void, the password ' +
      'stays until then',
  ).action(
    kit.changing(async (admin, output, { userId: id }) => {
      output.print({ id, ...(await admin.request<LinkResponse>('POST', `/users/${id}/links`)) }, describeLink);
    }),
  );

  addCommand(user, 'sign-out <user>', 'end all sessions of a user; the user can sign in again').action(
    kit.sends('DELETE /users/:userId/sessions', {
      result: ({ userId: id }) => ({ id, signedOut: true }),
      text: (_, { userId }) => `Ended all sessions of ${userId}.`,
    }),
  );

  addCommand(user, 'delete <user>', 'delete a user; its accounts, their keys and money stay').action(
    kit.sends('DELETE /users/:userId', {
      result: ({ userId: id }) => ({ id, deleted: true }),
      text: (_, { userId }) => `Deleted ${userId}.`,
    }),
  );
}

/** @throws UsageError if both roles are given. */
function readOperatorRole({ operator, auditor }: Given): 'operator' | 'auditor' | null {
  if (operator === true && auditor === true) throw new UsageError('Choose --operator or --auditor.');
  if (operator === true) return 'operator';
  return auditor === true ? 'auditor' : null;
}

/** @throws UsageError if a role is given without an account. */
function readMemberships({ accountId, role }: Given): object[] {
  if (accountId === undefined && role !== undefined) {
    throw new UsageError('--role is the role in an account: add --account.');
  }
  return accountId === undefined ? [] : [{ accountId, role: role ?? 'member' }];
}

function describeUser(user: UserResponse): string {
  const { email, operatorRole, unconfirmedTokenId, lastSignInAt, memberships } = user;
  return renderFields([
    ...fieldsOf(user, 'id', 'name'),
    ['e-mail', email ?? 'none: signs in with the name'],
    ['operator', operatorRole ?? 'no'],
    ['status', describeStatus(user)],
    ...(unconfirmedTokenId === null
      ? []
      : [['ends with', `the token ${unconfirmedTokenId}, unless confirmed`] as const]),
    ...fieldsOf(user, 'createdAt'),
    ['signed in', localTime(lastSignInAt ?? 'never')],
    ...memberships.map(({ accountId, accountName, role }) => [role, `${accountName} (${accountId})`] as const),
  ]);
}

function describeLink({ link, linkExpiresAt, linkHint }: LinkResponse): string {
  const hint = linkHint === null ? '' : `\n${linkHint}`;
  return `${link}\n\nThe link works once, until ${localTime(linkExpiresAt)}. This is the only time it is shown.${hint}`;
}

function describeStatus({ status, hasPassword }: UserResponse): string {
  return status === 'active' && !hasPassword ? 'has no password yet' : status;
}
