import type { Command } from 'commander';
import type { MemberResponse } from '../../api/members/member-keeper.ts';
import { addCommand, type CommandKit } from '../kit.ts';
import { localTime } from '../local-time.ts';
import { userIdOf } from '../references.ts';
import { columnsOf } from '../table.ts';
import { addOwnerLimitOptions, describeOwnerLimits, describeUse, NONE, ownerLimitsOf } from './limit-options.ts';

export function accountMemberCommands(account: Command, kit: CommandKit): void {
  const member = account.command('member').description('list, add, limit and remove the people of an account');

  addCommand(member, 'list <account>', 'list the people of an account').action(
    kit.lists<MemberResponse>('/accounts/:accountId/members', {
      empty: 'The account has no members. Add one: faregate account member add <account> <user> --role owner',
      columns: [
        { title: 'id', cell: (row) => row.userId },
        { title: 'name', cell: (row) => row.name },
        { title: 'e-mail', cell: (row) => row.email ?? '' },
        ...columnsOf<MemberResponse>('role', 'status', 'since'),
        { title: 'signed in', cell: (row) => localTime(row.lastSignInAt ?? 'never') },
        { title: 'limits', cell: (row) => describeOwnerLimits(row).join(', ') || NONE },
        { title: 'used', cell: describeUse },
      ],
    }),
  );

  addCommand(member, 'add <account> <user>', 'add a user to an account, or change the role of a member')
    .option('--role <role>', 'owner: manages the account; member: its own keys and usage', 'member')
    .action(
      kit.sends<MemberResponse>('POST /accounts/:accountId/members', {
        body: ({ userId, role }) => ({ userId, role }),
        text: ({ name, role }, { accountId }) => `${name} is ${role} of ${accountId}.`,
      }),
    );

  addOwnerLimitOptions(
    addCommand(
      member,
      'limit <account> <user>',
      'set limits for all keys of a member together; "none" removes a limit',
    ),
  ).action(
    kit.sends<MemberResponse>('PATCH /accounts/:accountId/members', {
      body: (given) => ({ userId: given.userId, ...ownerLimitsOf(given) }),
      text: (changed) => `${changed.name}: ${describeOwnerLimits(changed).join(', ') || NONE}`,
    }),
  );

  addCommand(
    member,
    'remove <account> <user>',
    'remove a user from an account at once; without an option the keys of the user stay as they are',
  )
    .option('--revoke-keys', 'revoke the keys of the user in the account')
    .option('--keys-to <user>', 'transfer the keys of the user to another member')
    .action(
      kit.changing(async (admin, output, { accountId, userId, revokeKeys, keysTo }) => {
        const query = new URLSearchParams({ userId: String(userId) });
        if (revokeKeys === true) query.set('keys', 'revoke');
        if (keysTo !== undefined) query.set('keysTo', await userIdOf(admin, String(keysTo)));
        await admin.request('DELETE', `/accounts/${accountId}/members?${query}`);
        output.print({ accountId, userId, removed: true }, () => `${userId} no longer belongs to ${accountId}.`);
      }),
    );
}
