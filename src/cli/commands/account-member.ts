import type { Command } from 'commander';
import type { MemberResponse } from '../../api/members/member-keeper.ts';
import { resolveAccount } from '../account-reference.ts';
import type { CommandKit } from '../command.ts';
import { localTime } from '../local-time.ts';
import { listAll } from '../pages.ts';
import { printTable } from '../table.ts';
import { resolveUser, USER_ARGUMENT } from '../user-reference.ts';
import { addOwnerLimitOptions, describeOwnerLimits, describeUse, readOwnerLimits } from './limit-options.ts';
import { NONE } from './minute-options.ts';

/** `faregate account member …` */
export function accountMemberCommands(account: Command, kit: CommandKit): void {
  const member = account.command('member').description('list, add, limit and remove the people of an account');

  member
    .command('list')
    .description('list the people of an account')
    .argument('<account>', 'id or name')
    .action(
      kit.reading(async (admin, output, [reference]) => {
        const id = await resolveAccount(admin, reference!);
        const members = await listAll<MemberResponse>(admin, `/accounts/${id}/members`, {});
        printTable(
          output,
          members,
          'Nobody belongs to the account. Add somebody: faregate account member add <account> <user> --role owner',
          [
            { title: 'id', cell: (row) => row.userId },
            { title: 'name', cell: (row) => row.name },
            { title: 'e-mail', cell: (row) => row.email ?? '' },
            { title: 'role', cell: (row) => row.role },
            { title: 'status', cell: (row) => row.status },
            { title: 'since', cell: (row) => localTime(row.since) },
            { title: 'signed in', cell: (row) => localTime(row.lastSignInAt ?? 'never') },
            { title: 'limits', cell: (row) => describeOwnerLimits(row).join(', ') || NONE },
            { title: 'used', cell: describeUse },
          ],
        );
      }),
    );

  const ofMember = (name: string, description: string): Command =>
    member
      .command(name)
      .description(description)
      .argument('<account>', 'id or name')
      .argument(...USER_ARGUMENT);

  ofMember('add', 'let a user see an account, or give a member another role')
    .option('--role <role>', 'owner: manages the account; member: its own keys and usage', 'member')
    .action(
      kit.changing(async (admin, output, [accountReference, userReference], { role }) => {
        const id = await resolveAccount(admin, accountReference!);
        const userId = await resolveUser(admin, userReference!);
        const added = await admin.request<MemberResponse>('POST', `/accounts/${id}/members`, { userId, role });
        output.print(added, () => `${added.name} is ${added.role} of ${id}.`);
      }),
    );

  addOwnerLimitOptions(
    ofMember('limit', 'limit what a member may use by all its keys together; "none" takes a limit away'),
  ).action(
    kit.changing(async (admin, output, [accountReference, userReference], options) => {
      const id = await resolveAccount(admin, accountReference!);
      const userId = await resolveUser(admin, userReference!);
      const limits = { userId, ...readOwnerLimits(options) };
      const changed = await admin.request<MemberResponse>('PATCH', `/accounts/${id}/members`, limits);
      output.print(changed, () => `${changed.name}: ${describeOwnerLimits(changed).join(', ') || NONE}`);
    }),
  );

  ofMember('remove', 'take an account away from a user, at once; keys stay unless an option says otherwise')
    .option('--revoke-keys', 'revoke the keys of the user in the account')
    .option('--keys-to <user>', 'hand them to another member')
    .action(
      kit.changing(async (admin, output, [accountReference, userReference], { revokeKeys, keysTo }) => {
        const id = await resolveAccount(admin, accountReference!);
        const userId = await resolveUser(admin, userReference!);
        const query = new URLSearchParams({ userId });
        if (revokeKeys === true) query.set('keys', 'revoke');
        if (keysTo !== undefined) query.set('keysTo', await resolveUser(admin, String(keysTo)));
        await admin.request('DELETE', `/accounts/${id}/members?${query}`);
        output.print({ accountId: id, userId, removed: true }, () => `${userId} does not belong to ${id} any more.`);
      }),
    );
}
