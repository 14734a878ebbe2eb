import type { Actor, OperatorRole } from './actor.ts';
import type { UserStatus } from './user.ts';

/**
 * What somebody gives in the admin API that opens more than changes: the role of a person, the way in of a person who has one, or the right to
 * export the database. A token makes no operator, and gives no role to who is there already, because a person may do more than a token. A session
 * gives what opens everything only if the person has just signed in, because a cookie that leaked would open it too.
 */
export type Grant = OperatorRole | 'export';

/** `by_token`: a token does not give it; `sign_in_again`: the session is too old. */
export type GrantRefusal = 'by_token' | 'sign_in_again';

/** For how long after a sign-in a session counts as a new one. */
export const NEW_SIGN_IN_MS = 5 * 60_000;

/** Why an actor does not give something; `null` if it does. Whether it may change anything at all is decided before. */
export function refusalOfGrant(actor: Actor, grant: Grant | null, nowMs: number): GrantRefusal | null {
  if (grant === null || actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token') return grant === 'export' && actor.scopes.includes('export') ? null : 'by_token';
  if (actor.kind !== 'user') return 'by_token';
  if (grant === 'auditor') return null;
  const { authenticatedAtMs } = actor;
  const isNew = authenticatedAtMs !== null && nowMs - authenticatedAtMs < NEW_SIGN_IN_MS;
  return isNew ? null : 'sign_in_again';
}

/** Of a user, what decides what a change of it gives. */
interface GrantedUser {
  readonly name: string;
  readonly email: string | null;
  readonly operatorRole: OperatorRole | null;
  readonly status: UserStatus;
}

/**
 * What a change of a user gives: the role that it gets, or the role that it has, where the change lets somebody sign in as that person who could
 * not before. Taking away is no gift.
 */
export function grantOfChange(user: GrantedUser, changed: GrantedUser): Grant | null {
  const { operatorRole } = changed;
  if (operatorRole === null || changed.status !== 'active') return null;
  const isLess = user.operatorRole === 'operator' && operatorRole === 'auditor';
  const hasRole = user.operatorRole === operatorRole || isLess;
  const signsInAlike =
    user.email === changed.email && (changed.email !== null || user.name === changed.name) && user.status === 'active';
  return hasRole && signsInAlike ? null : operatorRole;
}
