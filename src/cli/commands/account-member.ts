import type { MemberResponse } from '../../api/members/member-keeper.ts';
import { group } from '../command-rows.ts';
import { userIdOf } from '../references.ts';
import { columnsOf } from '../table.ts';
import { describeOwnerLimits, describeUse, NONE, OWNER_LIMIT_OPTIONS, ownerLimitsOf } from './limit-options.ts';

export const memberCommands = group('member', 'list, add, limit and remove the people of an account', {
  'list <account>': {
    about: 'list the people of an account',
    lists: '/accounts/:accountId/members',
    empty: 'The account has no members. Add one: faregate account member add <account> <user> --role owner',
    columns: [
      ...columnsOf<MemberResponse>('id: userId', 'name', 'e-mail: email', 'role', 'status', 'since'),
      ...columnsOf<MemberResponse>('signed in: lastSignInAt'),
      { title: 'limits', cell: describeLimits },
      { title: 'used', cell: describeUse },
    ],
  },
  'add <account> <user>': {
    about: 'add a user to an account, or change the role of a member',
    with: {
      '--role <role>': {
        text: 'owner: manages the account; member: its own keys and usage',
        choices: ['owner', 'member'],
        default: 'member',
      },
    },
    sends: 'POST /accounts/:accountId/members',
    body: ['userId', 'role'],
    text: ({ name, role }: MemberResponse, { accountId }) => `${name} is ${role} of ${accountId}.`,
  },
  'limit <account> <user>': {
    about: 'set limits for all keys of a member together; "none" removes a limit',
    with: OWNER_LIMIT_OPTIONS,
    sends: 'PATCH /accounts/:accountId/members',
    body: (given) => ({ userId: given.userId, ...ownerLimitsOf(given) }),
    text: (changed: MemberResponse) => `${changed.name}: ${describeLimits(changed)}`,
  },
  'remove <account> <user>': {
    about: 'remove a user from an account at once; without an option the keys of the user stay as they are',
    with: {
      '--revoke-keys': 'revoke the keys of the user in the account',
      '--keys-to <user>': 'transfer the keys of the user to another member',
    },
    async changes(admin, output, { accountId, userId, revokeKeys, keysTo }) {
      const query = new URLSearchParams({ userId: String(userId) });
      if (revokeKeys === true) query.set('keys', 'revoke');
      if (keysTo !== undefined) query.set('keysTo', await userIdOf(admin, String(keysTo)));
      await admin.request('DELETE', `/accounts/${accountId}/members?${query}`);
      output.print({ accountId, userId, removed: true }, () => `${userId} no longer belongs to ${accountId}.`);
    },
  },
});

function describeLimits(member: MemberResponse): string {
  return describeOwnerLimits(member).join(', ') || NONE;
}
