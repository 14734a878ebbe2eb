import { z } from 'zod';
import { checkSignIn, type PasswordChecks } from '../../people/sign-in.ts';
import type { UserStore } from '../../people/user-store.ts';
import { notFound } from '../management/endpoint.ts';
import { listOf } from '../management/response-fields.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { password, signInName } from './fields.ts';
import { orBusy, signInError } from './people-errors.ts';
import type { Visit, VisitDependencies } from './visit.ts';
import { type ForEveryUser, sessionResponse, sessionToWire, whoAmIResponse, whoAmIToWire } from './wire.ts';

export type SessionDependencies = PasswordChecks &
  VisitDependencies &
  ForEveryUser & {
    readonly users: UserStore;
  };

const signIn = z.strictObject({
  /** E-mail address of the user, or the name of a user without one. */
  user: signInName,
  password,
});

export function sessionEndpoints(dependencies: SessionDependencies): PeopleEndpoint[] {
  const { users, sessions, clock } = dependencies;

  async function whoAmI(userId: string, sessionId: string) {
    const user = await users.find(userId);
    if (user === null) throw signInError('wrong');
    return whoAmIToWire(user, sessionId, dependencies);
  }

  async function sessionsOf({ user }: Visit) {
    return (await sessions.list(user.id, clock.nowMs())).map((session) => sessionToWire(session, user.sessionId));
  }

  return [
    peopleEndpoint({
      method: 'POST',
      path: '/sessions',
      status: 201,
      summary: 'Sign in with an e-mail address or name and a password',
      needs: 'anyone',
      // The audit log does not record a sign-in: the list of sessions shows it, and nothing else changes.
      isChange: false,
      body: signIn,
      response: whoAmIResponse,
      async run({ body }, visit) {
        const given = { signInName: body.user, password: body.password, network: visit.network };
        const checked = await orBusy(checkSignIn(dependencies, given));
        if (checked === 'wrong' || 'waitMs' in checked) throw signInError(checked);
        const sessionId = await visit.beginSession(checked.userId, checked.passwordHash);
        if (sessionId === null) throw signInError('wrong');
        return whoAmI(checked.userId, sessionId);
      },
    }),
    peopleEndpoint({
      method: 'GET',
      path: '/session',
      summary: 'Read the signed-in user and its rights',
      needs: 'signed_in',
      response: whoAmIResponse,
      run: (_input, { user }) => whoAmI(user.id, user.sessionId),
    }),
    peopleEndpoint({
      method: 'DELETE',
      path: '/session',
      summary: 'Sign out',
      needs: 'signed_in',
      isChange: false,
      async run(_input, visit) {
        await sessions.end(visit.user.id, visit.user.sessionId);
        visit.forgetSession();
      },
    }),
    peopleEndpoint({
      method: 'GET',
      path: '/sessions',
      summary: 'List the signed-in user’s sessions',
      needs: 'signed_in',
      response: z.strictObject({ data: listOf(sessionResponse) }),
      run: async (_input, visit) => ({ data: await sessionsOf(visit) }),
    }),
    peopleEndpoint({
      method: 'DELETE',
      path: '/sessions/:id',
      subject: {
        kind: 'session',
        read: async (id, _input, visit) => (await sessionsOf(visit)).find((each) => each.id === id) ?? null,
      },
      summary: 'End one of the signed-in user’s sessions',
      needs: 'signed_in',
      async run({ id }, visit) {
        if (!(await sessions.end(visit.user.id, id))) throw notFound('session', id);
        if (id === visit.user.sessionId) visit.forgetSession();
      },
    }),
    peopleEndpoint({
      method: 'DELETE',
      path: '/sessions',
      subject: {
        kind: 'user',
        named: (_input, { user }) => user.id,
        read: async (_id, _input, visit) => ({ sessions: await sessionsOf(visit) }),
      },
      summary: 'End all sessions, or all other sessions',
      needs: 'signed_in',
      query: z.strictObject({
        keepThis: z.enum(['true', 'false']).optional().describe('true: the session that sends the request is kept.'),
      }),
      async run({ query }, visit) {
        const isKept = query.keepThis === 'true';
        await sessions.endAll(visit.user.id, isKept ? visit.user.sessionId : null);
        if (!isKept) visit.forgetSession();
      },
    }),
  ];
}
