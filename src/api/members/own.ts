import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { signatureOf } from '../../people/actor.ts';
import type { LinkStore } from '../../people/link-store.ts';
import type { OneTimeLinks } from '../../people/one-time-links.ts';
import { INVITATIONS_A_DAY_MAX, OPEN_INVITATIONS_MAX } from '../../people/user.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type ChangeSubject, conflict, notFound } from '../management/endpoint.ts';
import type { AccountEntry } from '../management/guard.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { listOf, pageOf } from '../management/response-fields.ts';
import { page } from '../management/wire.ts';
import { accountRole, emailAddress } from '../sessions/fields.ts';
import { invitationMembers, invitationResponse, invitationToWire, linkMembers, linkToWire } from '../sessions/wire.ts';
import {
  keysOfRemoved,
  type MemberKeeperDependencies,
  memberChange,
  memberKeeper,
  memberLimitsResponse,
  memberResponse,
  notedKeys,
} from './member-keeper.ts';

interface MemberDependencies extends MemberKeeperDependencies {
  readonly links: Pick<LinkStore, 'listInvitations' | 'deleteInvitation'>;
  readonly oneTimeLinks: Pick<OneTimeLinks, 'invite'>;
  readonly accounts: Pick<AccountStore, 'findAccount'>;
  readonly publicUrl: () => string | null;
}

const invitation = z.strictObject({
  /** Address to which the link is sent, and with which a new user signs in. Without it, the owner passes the link on. */
  email: emailAddress.nullish(),
  role: accountRole.default('member'),
});

export function memberEndpoints(dependencies: MemberDependencies): AccountEndpoint[] {
  const { links, oneTimeLinks, accounts, publicUrl, clock } = dependencies;
  const keeper = memberKeeper(dependencies);
  const subject: ChangeSubject<unknown, unknown, AccountEntry> = {
    kind: 'member',
    read: (userId, _input, { scope }) => keeper.read(scope.accountId, userId),
  };
  return [
    accountEndpoint({
      method: 'GET',
      path: '/members',
      summary: 'List the members of the account with their limits and usage',
      needs: 'owner',
      query: z.strictObject(page),
      response: pageOf(memberResponse),
      run: ({ query }, { scope }) => keeper.list(scope.accountId, query),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/member-limits',
      summary: 'Read the limits and usage of the caller, or of the user who owns the key',
      needs: 'member',
      response: memberLimitsResponse,
      run: (_input, { scope, actor }) =>
        keeper.limitsOf(scope.accountId, scope.ownUserId ?? (actor.kind === 'user' ? actor.id : null)),
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/members/:id',
      subject,
      summary: 'Change a member’s role or limits',
      needs: 'person',
      body: memberChange,
      response: memberResponse,
      run: ({ id, body }, { scope }) => keeper.change(scope.accountId, id, body, true),
    }),
    accountEndpoint({
      method: 'DELETE',
      path: '/members/:id',
      subject: { ...subject, noted: ({ query }) => notedKeys(query) },
      summary: 'Remove a member from the account; the keys are kept, revoked, or transferred to another member',
      needs: 'person',
      query: z.strictObject(keysOfRemoved),
      run: ({ id, query }, { scope }) => keeper.remove(scope.accountId, id, query, true),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/invitations',
      summary: 'List open invitations',
      needs: 'owner',
      response: z.strictObject({ data: listOf(invitationResponse) }),
      async run(_input, { scope }) {
        const found = await links.listInvitations(scope.accountId, new Date(clock.nowMs()));
        return { data: found.map(invitationToWire) };
      },
    }),
    accountEndpoint({
      method: 'POST',
      path: '/invitations',
      status: 201,
      summary: 'Invite a person to the account; the link is shown only once',
      needs: 'person',
      body: invitation,
      response: z.strictObject({ ...invitationMembers, ...linkMembers }),
      async run({ body: { email = null, role } }, { actor, scope: { accountId } }) {
        const account = await requireAccount(accounts, accountId);
        const asked = { accountId, accountName: account.name, email, role };
        const createdBy = signatureOf(actor);
        const createdAt = new Date(clock.nowMs());
        const link = await oneTimeLinks.invite(asked, actor);
        if (typeof link === 'string') throw conflict(TOO_MANY[link]);
        if ('mailWaitMs' in link) throw tooManyMails(link.mailWaitMs);
        const { id, expiresAt } = link;
        const made = invitationToWire({ id, email, role, createdBy, createdAt, expiresAt });
        return { ...made, ...linkToWire(link, publicUrl()) };
      },
    }),
    accountEndpoint({
      method: 'DELETE',
      path: '/invitations/:id',
      subject: {
        kind: 'invitation',
        async read(id, _input, { scope }) {
          const open = await links.listInvitations(scope.accountId, new Date(clock.nowMs()));
          const found = open.find((each) => each.id === id);
          return found === undefined ? null : invitationToWire(found);
        },
      },
      summary: 'Revoke an invitation',
      needs: 'person',
      async run({ id }, { scope }) {
        if (!(await links.deleteInvitation(scope.accountId, id))) throw notFound('invitation', id);
      },
    }),
  ];
}

const TOO_MANY = {
  too_many_open: `At most ${OPEN_INVITATIONS_MAX} invitations may be open at a time. Revoke one first.`,
  too_many_made: `${INVITATIONS_A_DAY_MAX} invitations were created for the account within a day, which is the limit. Try again tomorrow.`,
};

function tooManyMails(waitMs: number): GatewayError {
  const minutes = Math.ceil(waitMs / 60_000);
  return new GatewayError('rateLimitExceeded', {
    code: 'too_many_mails',
    message:
      `Too many mails were sent to this address or for this account. Try again in ${minutes} minutes, ` +
      'or invite without an address and send the link yourself.',
    headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
  });
}
