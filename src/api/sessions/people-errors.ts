import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { IDENTITIES_MAX } from '../../people/identity-store.ts';
import type { LinkRefusal } from '../../people/link-store.ts';
import type { MemberChangeRefusal } from '../../people/membership-store.ts';
import { passwordFault } from '../../people/password-rules.ts';
import { PasswordsBusyError } from '../../people/passwords.ts';
import type { PasswordRefusal } from '../../people/sign-in.ts';
import { MEMBERS_MAX, MEMBERSHIPS_MAX } from '../../people/user.ts';
import { conflict } from '../management/endpoint.ts';

type Refusal = LinkRefusal | MemberChangeRefusal;

const absent = (message: string): GatewayError => new GatewayError('pathUnknown', { message });

const roleNotAllowed = (message: string): GatewayError => new GatewayError('roleNotAllowed', { message });

const BY_TOKEN =
  'An admin token cannot grant a role to a user, or create a sign-in for a user with a role. Sign in to the console as an operator, or use the command line on the machine.';

function signInAgain(): GatewayError {
  return new GatewayError('roleNotAllowed', {
    code: 'sign_in_again',
    message: 'This action requires a sign-in within the last 5 minutes. Sign in again and repeat the request.',
  });
}

const ERRORS: Readonly<Record<Refusal, () => GatewayError>> = {
  name_taken: () => conflict('This e-mail address or name is already in use.'),
  name_like_email: () =>
    invalidRequest('name: The name of a user without an e-mail address must not contain an @.', 'name'),
  last_operator: () =>
    conflict('This is the last operator. Only the gateway’s command line can remove the last operator.'),
  last_owner: () => conflict('The account would have no owner. Make another member an owner first.'),
  no_heir: () => invalidRequest('keysTo: Keys can be transferred only to another member of the account.', 'keysTo'),
  by_token: () => roleNotAllowed(BY_TOKEN),
  sign_in_again: signInAgain,
  token_ended: () =>
    new GatewayError('invalidApiKey', { message: 'The token has been revoked or has expired. Use another one.' }),
  no_account: () => absent('There is no such account.'),
  no_user: () => absent('There is no such user.'),
  absent: () => absent('There is no such user here.'),
  account_full: () => conflict(`An account has at most ${MEMBERS_MAX} members.`),
  user_full: () => conflict(`A user belongs to at most ${MEMBERSHIPS_MAX} accounts.`),
  already: () => conflict('The user is already a member of the account.'),
  identity_taken: () => conflict('This identity is already in use.'),
  identities_full: () => conflict(`A user has at most ${IDENTITIES_MAX} identities.`),
  void: () => absent('This link is invalid, expired or already used. Ask the sender for a new one.'),
};

export const peopleError = (refusal: Refusal): GatewayError => ERRORS[refusal]();

/** Returns the error of a sign-in. It does not reveal whether the name or the password was wrong. */
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

export function requireGoodPassword(password: string, known: readonly (string | null)[]): void {
  const fault = passwordFault(password, known);
  if (fault !== null) throw invalidRequest(`password: ${fault}`, 'password');
}

/** Awaits work that hashes a password. @throws GatewayError 503 if the queue of passwords to hash is full */
export async function orBusy<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PasswordsBusyError)) throw error;
    throw new GatewayError('overloaded', { headers: { 'retry-after': '2' }, cause: error });
  }
}
