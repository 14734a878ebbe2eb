import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { IDENTITIES_MAX } from '../../people/identity-store.ts';
import type { LinkRefusal } from '../../people/link-store.ts';
import type { MemberChangeRefusal } from '../../people/membership-store.ts';
import { passwordFault } from '../../people/password-rules.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';
import type { PasswordRefusal } from '../../people/sign-in.ts';
import { MEMBERS_MAX, MEMBERSHIPS_MAX } from '../../people/user.ts';
import { conflict } from '../management/endpoint.ts';

/** What people are told of why something about them cannot be done. */

type Refusal = LinkRefusal | MemberChangeRefusal;

const absent = (message: string): GatewayError => new GatewayError('pathUnknown', { message });

const roleNotAllowed = (message: string): GatewayError => new GatewayError('roleNotAllowed', { message });

const BY_TOKEN =
  'A token cannot give a person a role, nor access as a person who has one. Do it in the console as an operator, or at the command line of the machine.';

function signInAgain(): GatewayError {
  return new GatewayError('roleNotAllowed', {
    code: 'sign_in_again',
    message: 'This needs a sign-in within the last 5 minutes. Sign in again, then repeat the request.',
  });
}

const ERRORS: Readonly<Record<Refusal, () => GatewayError>> = {
  name_taken: () => conflict('Somebody signs in with this e-mail address, or this name, already.'),
  name_like_email: () =>
    invalidRequest('name: The name of a user without an e-mail address must not contain an @.', 'name'),
  last_operator: () =>
    conflict('Nobody would be left who is an operator. The command line of the gateway can do it all the same.'),
  last_owner: () => conflict('The account would have no owner. Make somebody else an owner first.'),
  no_heir: () => invalidRequest('keysTo: Keys are handed to another member of the account.', 'keysTo'),
  by_token: () => roleNotAllowed(BY_TOKEN),
  sign_in_again: signInAgain,
  token_ended: () =>
    new GatewayError('invalidApiKey', { message: 'The token has been revoked or has expired. Use another one.' }),
  no_account: () => absent('There is no such account.'),
  no_user: () => absent('There is no such user.'),
  absent: () => absent('There is no such user here.'),
  account_full: () => conflict(`An account has at most ${MEMBERS_MAX} members.`),
  user_full: () => conflict(`A user belongs to at most ${MEMBERSHIPS_MAX} accounts.`),
  already: () => conflict('The user belongs to the account already.'),
  identity_taken: () => conflict('Somebody signs in with this identity already.'),
  identities_full: () => conflict(`A user has at most ${IDENTITIES_MAX} identities.`),
  void: () => absent('This link was used, has expired, or never was one. Ask whoever sent it for another one.'),
};

export const peopleError = (refusal: Refusal): GatewayError => ERRORS[refusal]();

/** Nobody learns which of the two it was. */
export function signInError(refusal: PasswordRefusal): GatewayError {
  if (refusal === 'wrong') {
    return new GatewayError('invalidApiKey', {
      code: 'sign_in_failed',
      message: 'The e-mail address or name, or the password, is wrong.',
    });
  }
  return tooManyAttempts(refusal.waitMs);
}

export function ownPasswordError(refusal: PasswordRefusal): GatewayError {
  if (refusal !== 'wrong') return tooManyAttempts(refusal.waitMs);
  return new GatewayError('roleNotAllowed', {
    code: 'password_wrong',
    param: 'currentPassword',
    message: 'currentPassword: This is not your password.',
  });
}

export function tooManyAttempts(waitMs: number): GatewayError {
  return new GatewayError('rateLimitExceeded', {
    code: 'too_many_attempts',
    message: 'Too many attempts. Try again in a moment.',
    headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
  });
}

/** @throws GatewayError if the rules of passwords do not allow it. */
export function requireGoodPassword(password: string, known: readonly (string | null)[]): void {
  const fault = passwordFault(password, known);
  if (fault !== null) throw invalidRequest(`password: ${fault}`, 'password');
}

/** @throws GatewayError 503 if more passwords wait than may. */
export async function orBusy<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PasswordsBusyError)) throw error;
    throw new GatewayError('overloaded', { headers: { 'retry-after': '2' }, cause: error });
  }
}
