import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page, shortText } from '../management/wire.ts';
import { accountRole } from '../sessions/fields.ts';
import { peopleError } from '../sessions/people-errors.ts';
import {
  keysOfRemoved,
  type MemberKeeperDependencies,
  memberChange,
  memberKeeper,
  memberResponse,
  notedKeys,
} from './member-keeper.ts';

interface AccountMemberDependencies extends MemberKeeperDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
}

const memberList = z.strictObject(page);
const membership = z.strictObject({ userId: shortText, role: accountRole });
const changedMember = memberChange.extend({ userId: shortText });
const removedMember = z.strictObject({ userId: shortText, ...keysOfRemoved });

/** Endpoints for members. Operators may remove even the last owner. */
export function accountMemberEndpoints(dependencies: AccountMemberDependencies): AdminEndpoint[] {
  const { members, accounts, clock } = dependencies;
  const keeper = memberKeeper(dependencies);

  const subject = {
    kind: 'member',
    isMadeInAccount: true,
    read: (userId: string, { id }: { readonly id: string }) => keeper.read(id, userId),
  } as const;

  return [
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/members',
      summary: 'List the members of an account with their limits and usage',
      query: memberList,
      response: pageOf(memberResponse),
      async run({ id, query }) {
        await requireAccount(accounts, id);
        return keeper.list(id, query);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/members',
      subject: { ...subject, named: ({ body }) => body.userId },
      status: 201,
      summary: 'Add a user to an account, or change a member’s role',
      body: membership,
      response: memberResponse,
      async run({ id, body: { userId, role } }) {
        await requireAccount(accounts, id);
        const refusal = await members.add({ accountId: id, userId, role, at: new Date(clock.nowMs()) });
        if (refusal === 'already') await members.changeRole(id, userId, role, false);
        else if (refusal !== null) throw peopleError(refusal);
        return keeper.requireMember(id, userId);
      },
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/accounts/:id/members',
      subject: { ...subject, named: ({ body }) => body.userId },
      summary: 'Change a member’s role, or the limits of all its keys together',
      body: changedMember,
      response: memberResponse,
      async run({ id, body: { userId, ...change } }) {
        await requireAccount(accounts, id);
        return keeper.change(id, userId, change, false);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/accounts/:id/members',
      subject: { ...subject, named: ({ query }) => query.userId, noted: ({ query }) => notedKeys(query) },
      summary: 'Remove a member from an account; the keys are kept, revoked, or transferred to another member',
      query: removedMember,
      async run({ id, query: { userId, ...keys } }) {
        await requireAccount(accounts, id);
        await keeper.remove(id, userId, keys, false);
      },
    }),
  ];
}
