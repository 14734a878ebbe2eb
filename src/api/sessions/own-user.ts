import { z } from 'zod';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { Passwords } from '../../people/passwords.ts';
import { type CheckedPassword, checkOwnPassword } from '../../people/sign-in.ts';
import { conflict } from '../management/endpoint.ts';
import { shortText } from '../management/wire.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { emailAddress, password } from './fields.ts';
import { orBusy, ownPasswordError, peopleError, requireGoodPassword, tooManyAttempts } from './people-errors.ts';
import type { SessionDependencies } from './sessions.ts';
import type { Visit } from './visit.ts';
import { userResponse, userToWire } from './wire.ts';

export type OwnUserDependencies = SessionDependencies & { readonly passwords: Pick<Passwords, 'hash' | 'verify'> };

const passwordChange = z.strictObject({ currentPassword: password, password });

const userChange = z
  .strictObject({
    name: shortText.optional(),
    email: emailAddress.optional(),
    currentPassword: password.optional(),
  })
  .refine(({ name, email }) => name !== undefined || email !== undefined, { error: 'Send name or email.' });

/** Conditions of a change by the users themselves: none, because they have just proved the password. */
const BY_ITSELF = { keepsOperator: false, confirms: false, refuse: () => null };

export function ownUserEndpoints(dependencies: OwnUserDependencies): PeopleEndpoint[] {
  const { users, passwords } = dependencies;

  const requirePassword = ({ user, network }: Visit, given: string) =>
    requireOwnPassword(dependencies, user.id, network, given);

  async function readUser(id: string) {
    const user = await users.find(id);
    return user && userToWire(user);
  }

  return [
    peopleEndpoint({
      method: 'PUT',
      path: '/password',
      subject: { kind: 'user', showsNoDifference: true, named: (_input, { user }) => user.id, read: readUser },
      summary: 'Change your password; all other sessions end',
      needs: 'signed_in',
      body: passwordChange,
      async run({ body }, visit) {
        const { id, sessionId } = visit.user;
        const known = await users.credentialOf(id);
        requireGoodPassword(body.password, [known?.email ?? null, known?.name ?? null]);
        const { passwordHash } = await requirePassword(visit, body.currentPassword);
        const hash = await orBusy(passwords.hash(body.password, { network: visit.network, isKnown: true }));
        if (!(await users.changePassword(id, hash, passwordHash, sessionId))) {
          throw conflict('The password was changed by another request. Try again.');
        }
      },
    }),
    peopleEndpoint({
      method: 'PATCH',
      path: '/user',
      subject: { kind: 'user', named: (_input, { user }) => user.id, read: readUser },
      summary: 'Change your name or e-mail address',
      needs: 'signed_in',
      body: userChange,
      response: userResponse,
      async run({ body }, visit) {
        const { id } = visit.user;
        const user = await users.find(id);
        if (user === null) throw peopleError('absent');
        const changesSignIn = body.email !== undefined || user.email === null;
        if (changesSignIn) {
          const waitMs = await dependencies.limits.beginTry(visit.network);
          if (waitMs > 0) throw tooManyAttempts(waitMs);
          if (body.currentPassword === undefined) {
            throw invalidRequest(
              'currentPassword: Changing a sign-in method requires your password.',
              'currentPassword',
            );
          }
          await requirePassword(visit, body.currentPassword);
        }
        const refusal = await users.change(id, { name: body.name, email: body.email }, BY_ITSELF);
        if (refusal !== null) throw peopleError(refusal);
        if (changesSignIn) dependencies.limits.tryWorked(visit.network);
        const changed = await users.find(id);
        if (changed === null) throw peopleError('absent');
        return userToWire(changed);
      },
    }),
  ];
}

/** Checks the password of the signed-in user. @throws GatewayError if it is wrong */
export async function requireOwnPassword(
  dependencies: OwnUserDependencies,
  userId: string,
  network: string,
  password: string,
): Promise<CheckedPassword> {
  const checked = await orBusy(checkOwnPassword(dependencies, { userId, password, network }));
  if (checked === 'wrong' || 'waitMs' in checked) throw ownPasswordError(checked);
  return checked;
}
