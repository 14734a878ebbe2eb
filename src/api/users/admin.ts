import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { LIST_TIMING } from '../../lib/slices.ts';
import type { Actor } from '../../people/actor.ts';
import { grantOfChange, refusalOfGrant } from '../../people/grants.ts';
import type { MembershipStore } from '../../people/membership-store.ts';
import type { OneTimeLinks } from '../../people/one-time-links.ts';
import type { SessionStore } from '../../people/session-store.ts';
import { MEMBERSHIPS_MAX } from '../../people/user.ts';
import type { User } from '../../people/user-list-store.ts';
import type { UserStore } from '../../people/user-store.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound, orNotFound } from '../management/endpoint.ts';
import { listOf, pageOf } from '../management/response-fields.ts';
import { filterText, page, shortText } from '../management/wire.ts';
import { accountRole, emailAddress, operatorRole } from '../sessions/fields.ts';
import { peopleError } from '../sessions/people-errors.ts';
import {
  linkMembers,
  linkResponse,
  linkToWire,
  sessionResponse,
  sessionToWire,
  userResponse,
  userToWire,
} from '../sessions/wire.ts';

export interface AdminPeopleDependencies {
  readonly users: UserStore;
  readonly members: MembershipStore;
  readonly sessions: SessionStore;
  readonly oneTimeLinks: OneTimeLinks;
  readonly publicUrl: () => string | null;
  readonly clock: Clock;
  readonly ids: Ids;
}

const newUser = z.strictObject({
  name: shortText,
  /** E-mail address of the user. A user without one signs in with the name. */
  email: emailAddress.nullish(),
  operatorRole: operatorRole.nullish(),
  memberships: z
    .array(z.strictObject({ accountId: shortText, role: accountRole }))
    .max(MEMBERSHIPS_MAX)
    .refine((list) => new Set(list.map(({ accountId }) => accountId)).size === list.length, {
      error: 'List each account only once.',
    })
    .default([]),
});

const userChange = z.strictObject({
  name: shortText.optional(),
  email: emailAddress.nullable().optional(),
  operatorRole: operatorRole.nullable().optional(),
  status: z.enum(['active', 'suspended']).optional(),
});

const userList = z
  .strictObject({
    ...page,
    search: filterText.optional(),
    /** Name with which the user signs in, in full. */
    signInName: filterText.optional(),
    operators: z.enum(['true']).optional(),
  })
  .refine((query) => [query.search, query.signInName, query.operators].filter((one) => one !== undefined).length <= 1, {
    error: 'Send one of search, signInName and operators.',
  });

const linkedUser = userResponse.extend(linkMembers);
export type LinkedUser = z.infer<typeof linkedUser>;

export function userEndpoints(dependencies: AdminPeopleDependencies): AdminEndpoint[] {
  const { users, sessions, oneTimeLinks, publicUrl, clock, ids } = dependencies;

  const read = async (id: string): Promise<User> => orNotFound(await users.find(id), 'user', id);

  const subject: ChangeSubject = { kind: 'user', read: async (id) => userToWire(await read(id)) };

  async function linkFor(user: User, actor: Actor, isNew: boolean) {
    const link = await oneTimeLinks.forUser(user, actor, isNew);
    if (link === 'suspended') throw conflict('The user is suspended and cannot use a link.');
    if (typeof link === 'string') throw peopleError(link);
    return linkToWire(link, publicUrl());
  }

  return [
    adminEndpoint({
      method: 'POST',
      path: '/users',
      status: 201,
      summary: 'Create a user; the link for choosing a password is shown only once',
      body: newUser,
      response: linkedUser,
      async run({ body }, { actor }) {
        const id = ids.next('usr');
        const { name, email = null, operatorRole = null, memberships } = body;
        const nowMs = clock.nowMs();
        // Only operators are checked. If a token created an auditor, the end of the token suspends the auditor.
        const ungiven = refusalOfGrant(actor, operatorRole === 'operator' ? operatorRole : null, nowMs);
        if (ungiven !== null) throw peopleError(ungiven);
        const refusal = await users.insert({
          id,
          name,
          email,
          operatorRole,
          memberships,
          passwordHash: null,
          unconfirmedTokenId: actor.kind === 'admin_token' ? actor.id : null,
          at: new Date(nowMs),
        });
        if (refusal !== null) throw peopleError(refusal);
        const made = await read(id);
        return { ...userToWire(made), ...(await linkFor(made, actor, true)) };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/users',
      summary: 'List and search users',
      query: userList,
      response: pageOf(userResponse),
      async run({ query: { search, signInName, operators, cursor, limit } }) {
        const filter = { search, signInName, isOperator: operators === 'true' };
        const { items, next } = await users.list(filter, cursor ?? null, limit, LIST_TIMING);
        return { data: items.map(userToWire), nextCursor: next };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/users/:id',
      summary: 'Read a user',
      response: userResponse,
      run: async ({ id }) => userToWire(await read(id)),
    }),
    adminEndpoint({
      method: 'PATCH',
      path: '/users/:id',
      subject,
      summary: 'Change a user’s name, e-mail address, role or status; a suspended user is signed out at once',
      body: userChange,
      response: userResponse,
      async run({ id, body }, { actor }) {
        const refusal = await users.change(id, body, {
          keepsOperator: actor.kind === 'user',
          confirms: actor.kind !== 'admin_token',
          refuse(user, changed) {
            const isResumed = user.status !== 'active' && changed.status === 'active';
            if (isResumed && user.unconfirmedTokenId !== null && actor.kind === 'admin_token') return 'by_token';
            return refusalOfGrant(actor, grantOfChange(user, changed), clock.nowMs());
          },
        });
        if (refusal === 'absent') throw notFound('user', id);
        if (refusal !== null) throw peopleError(refusal);
        return userToWire(await read(id));
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/users/:id/confirm',
      needs: 'operator_person',
      subject,
      summary: 'Confirm a user that a token created: the user stays active when the token is revoked or expires',
      response: userResponse,
      async run({ id }) {
        if (!(await users.confirm(id))) throw notFound('user', id);
        return userToWire(await read(id));
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/users/:id',
      subject,
      summary: 'Delete a user, with its memberships and sessions',
      async run({ id }, { actor }) {
        const refusal = await users.delete(id, actor.kind === 'user');
        if (refusal === 'absent') throw notFound('user', id);
        if (refusal !== null) throw peopleError(refusal);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/users/:id/links',
      subject,
      status: 201,
      summary: 'Create a link for choosing a password, shown only once; earlier links become invalid',
      response: linkResponse,
      run: async ({ id }, { actor }) => linkFor(await read(id), actor, false),
    }),
    adminEndpoint({
      method: 'GET',
      path: '/users/:id/sessions',
      summary: 'List the sessions of a user',
      response: z.strictObject({ data: listOf(sessionResponse) }),
      async run({ id }, { actor }) {
        await read(id);
        const ownId = actor.kind === 'user' ? actor.sessionId : null;
        const found = await sessions.list(id, clock.nowMs());
        return { data: found.map((session) => sessionToWire(session, ownId)) };
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/users/:id/sessions',
      subject: {
        kind: 'user',
        async read(id) {
          const [{ name }, found] = await Promise.all([read(id), sessions.list(id, clock.nowMs())]);
          return { name, sessions: found.map((session) => sessionToWire(session, null)) };
        },
      },
      summary: 'Sign a user out everywhere',
      async run({ id }) {
        await read(id);
        await sessions.endAll(id, null);
      },
    }),
  ];
}
