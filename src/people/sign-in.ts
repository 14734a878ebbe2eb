import type { Passwords } from './passwords.ts';
import type { AttemptCounts } from './sign-in-limits.ts';
import { foldSignInName } from './sign-in-name.ts';
import type { UserCredential, UserStore } from './user-store.ts';

export interface PasswordChecks {
  readonly users: Pick<UserStore, 'findCredential' | 'credentialOf'>;
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly limits: AttemptCounts;
}

export interface CheckedPassword {
  readonly userId: string;
  /** Hash that the password matched. Later steps check that it is still stored. */
  readonly passwordHash: string;
}

export type PasswordRefusal = 'wrong' | { readonly waitMs: number };

/**
 * Checks a name and a password. Unknown names, users without a password and suspended users take as long and fail in the same way as a
 * wrong password, so that attackers cannot learn which users exist.
 */
export async function checkSignIn(
  parts: PasswordChecks,
  given: { readonly signInName: string; readonly password: string; readonly network: string },
): Promise<CheckedPassword | PasswordRefusal> {
  const person = foldSignInName(given.signInName);
  return check(parts, person, given, () => parts.users.findCredential(given.signInName));
}

export async function checkOwnPassword(
  parts: PasswordChecks,
  given: { readonly userId: string; readonly password: string; readonly network: string },
): Promise<CheckedPassword | PasswordRefusal> {
  return check(parts, given.userId, given, () => parts.users.credentialOf(given.userId));
}

async function check(
  { passwords, limits }: PasswordChecks,
  person: string,
  { password, network }: { readonly password: string; readonly network: string },
  find: () => Promise<UserCredential | null>,
): Promise<CheckedPassword | PasswordRefusal> {
  const waitMs = await limits.begin(person, network);
  if (waitMs > 0) return { waitMs };
  const credential = await find();
  const stored = credential?.status === 'active' ? credential.passwordHash : null;
  const isKnown = await limits.isKnown(person, network);
  const isRight = await passwords.verify(password, stored, { network, isKnown });
  if (!isRight || credential === null || stored === null) return 'wrong';
  limits.succeeded(person, network);
  return { userId: credential.userId, passwordHash: stored };
}
