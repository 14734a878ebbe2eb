import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { notFound } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { page, shortText, toPage } from '../management/wire.ts';
import { accountRole } from '../sessions/fields.ts';
import { peopleError } from '../sessions/people-errors.ts';
import { memberResponse, memberToWire } from '../sessions/wire.ts';
import type { AdminPeopleParts } from '../users/admin.ts';

export type AccountMemberParts = Pick<AdminPeopleParts, 'members' | 'clock'> & {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
};

const memberList = z.strictObject(page);
const membership = z.strictObject({ userId: shortText, role: accountRole });
const oneMember = z.strictObject({ userId: shortText });

/** The people of an account. An operator may leave an account without an owner. */
export function accountMemberEndpoints({ members, accounts, clock }: AccountMemberParts): AdminEndpoint[] {
  async function requireAccount(id: string): Promise<void> {
    if ((await accounts.findAccount(id)) === null) throw notFound('account', id);
  }

  async function findMember(accountId: string, userId: string) {
    const member = await members.find(accountId, userId);
    return member && memberToWire(member);
  }

  return [
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/members',
      summary: 'List the people of an account',
      query: memberList,
      response: pageOf(memberResponse),
      async run({ id, query: { cursor, limit } }) {
        await requireAccount(id);
        const found = await members.list(id, cursor ?? null, limit);
        return toPage(found, limit, memberToWire, ({ userId }) => userId);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/members',
      subject: {
        kind: 'member',
        isMadeInAccount: true,
        named: ({ body }) => body.userId,
        read: (userId, { id }) => findMember(id, userId),
      },
      status: 201,
      summary: 'Make a user a member of an account, or give a member another role',
      body: membership,
      response: memberResponse,
      async run({ id, body: { userId, role } }) {
        await requireAccount(id);
        const refusal = await members.add({ accountId: id, userId, role, at: new Date(clock.nowMs()) });
        if (refusal === 'already') await members.changeRole(id, userId, role, false);
        else if (refusal !== null) throw peopleError(refusal);
        const member = await members.find(id, userId);
        if (member === null) throw peopleError('absent');
        return memberToWire(member);
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/accounts/:id/members',
      subject: {
        kind: 'member',
        isMadeInAccount: true,
        named: ({ query }) => query.userId,
        read: (userId, { id }) => findMember(id, userId),
      },
      status: 204,
      summary: 'Remove a user from an account',
      query: oneMember,
      response: null,
      async run({ id, query: { userId } }) {
        await requireAccount(id);
        const refusal = await members.remove(id, userId, false, new Date(clock.nowMs()));
        if (refusal !== null) throw peopleError(refusal);
        return null;
      },
    }),
  ];
}
