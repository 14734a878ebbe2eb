import type { LinkResponse, UserResponse } from '../../api/sessions/wire.ts';
import type { LinkedUser } from '../../api/users/admin.ts';
import { UsageError } from '../command.ts';
import { type Given, group } from '../command-rows.ts';
import { localTime } from '../local-time.ts';
import { columnsOf, fieldsOf, renderFields } from '../table.ts';

const change = (body: (given: Given) => object) =>
  ({ sends: 'PATCH /users/:userId', body, text: describeUser }) as const;

const ABOUT = 'create, list and suspend people who sign in: operators, auditors, and the people of accounts';

export const userCommands = group('user', ABOUT, {
  'create <name>': {
    about: 'create a user, and print the link with which the person chooses a password; it works once, for 7 days',
    with: {
      '<name>': 'name of the person',
      '--email <address>': 'what the person signs in with (default: the name)',
      '--operator': 'the person may do everything in the admin API',
      '--auditor': 'the person may read everything in the admin API',
      '--account <account>': 'the person belongs to this account: id or name',
      '--role <role>': { text: 'role in that account (default: member)', choices: ['owner', 'member'] },
    },
    sends: 'POST /users',
    body: (given) => ({
      name: given.name,
      email: given.email,
      operatorRole: readOperatorRole(given),
      memberships: readMemberships(given),
    }),
    text: (created: LinkedUser) => `${describeUser(created)}\n\n${describeLink(created)}`,
  },
  list: {
    about: 'list users, newest first',
    with: {
      '--search <text>': 'only users whose name, e-mail or id contains this text',
      '--operators': 'only operators and auditors',
    },
    lists: '/users',
    filters: ['search', 'operators'],
    empty: 'There are no users. Create one: faregate user create <name> --operator',
    columns: [
      ...columnsOf<UserResponse>('id', 'name', 'e-mail: email', 'operator: operatorRole'),
      { title: 'accounts', cell: (row: UserResponse) => row.memberships.map((each) => each.accountName).join(', ') },
      { title: 'status', cell: describeStatus },
      ...columnsOf<UserResponse>('signed in: lastSignInAt'),
    ],
  },
  'show <user>': { about: 'show a user with its accounts', sends: 'GET /users/:userId', text: describeUser },
  'suspend <user>': {
    about: 'end all sessions of a user, and refuse new ones',
    ...change(() => ({ status: 'suspended' })),
  },
  'resume <user>': {
    about: 'let a suspended user sign in again',
    ...change(() => ({ status: 'active' })),
  },
  'confirm <user>': {
    about: 'confirm a user that a token created, so that it is not suspended when the token is revoked or expires',
    sends: 'POST /users/:userId/confirm',
    text: describeUser,
  },
  'role <user> <role>': {
    about: 'make a user an operator or an auditor, or neither',
    with: { '<role>': { text: 'the role', choices: ['operator', 'auditor', 'none'] } },
    ...change(({ role }) => ({ operatorRole: role === 'none' ? null : role })),
  },
  'reset <user>': {
    about:
      'print a link with which a user chooses a password; it works once, for an hour, or for a week if the user has none yet. ' +
      'Earlier links are void, the password stays until then',
    async changes(admin, output, { userId: id }) {
      output.print({ id, ...(await admin.request<LinkResponse>('POST', `/users/${id}/links`)) }, describeLink);
    },
  },
  'sign-out <user>': {
    about: 'end all sessions of a user; the user can sign in again',
    sends: 'DELETE /users/:userId/sessions',
    done: 'signedOut',
    text: (_: null, { userId }) => `Ended all sessions of ${userId}.`,
  },
  'delete <user>': {
    about: 'delete a user; its accounts, their keys and money stay',
    sends: 'DELETE /users/:userId',
    done: 'deleted',
  },
});

/** Reads the operator role. @throws UsageError if both roles are given */
function readOperatorRole({ operator, auditor }: Given): 'operator' | 'auditor' | null {
  if (operator === true && auditor === true) throw new UsageError('Choose --operator or --auditor.');
  if (operator === true) return 'operator';
  return auditor === true ? 'auditor' : null;
}

/** Reads the memberships of a new user. @throws UsageError if a role is given without an account */
function readMemberships({ accountId, role }: Given): object[] {
  if (accountId === undefined && role !== undefined) {
    throw new UsageError('--role is the role in an account: add --account.');
  }
  return accountId === undefined ? [] : [{ accountId, role: role ?? 'member' }];
}

function describeUser(user: UserResponse): string {
  const { email, operatorRole, unconfirmedTokenId, memberships } = user;
  return renderFields([
    ...fieldsOf(user, 'id', 'name'),
    ['e-mail', email ?? 'none: signs in with the name'],
    ['operator', operatorRole ?? 'no'],
    ['status', describeStatus(user)],
    unconfirmedTokenId !== null && ['suspended with', `the token ${unconfirmedTokenId}, unless confirmed`],
    ...fieldsOf(user, 'createdAt', 'signed in: lastSignInAt'),
    ...memberships.map(({ accountId, accountName, role }) => [role, `${accountName} (${accountId})`] as const),
  ]);
}

function describeLink({ link, linkExpiresAt, linkMailedTo, linkHint }: LinkResponse): string {
  const mailed = linkMailedTo === null ? '' : `\nIt is also being sent to ${linkMailedTo}.`;
  const hint = linkHint === null ? mailed : `${mailed}\n${linkHint}`;
  return `${link}\n\nThe link works once, until ${localTime(linkExpiresAt)}. This is the only time it is shown.${hint}`;
}

function describeStatus({ status, hasPassword }: UserResponse): string {
  return status === 'active' && !hasPassword ? 'has no password yet' : status;
}
