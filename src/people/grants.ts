import type { Actor, OperatorRole } from './actor.ts';
import type { UserStatus } from './user.ts';

/**
 * A right that an action of the admin API gives away: the role of a person, access as a person who has a role, or the export of the
 * database. A token creates no operator, and gives no role to an existing person, because a person may do more than a token. A session needs
 * a recent sign-in for the rights of an operator, because a leaked cookie would have them too.
 */
export type Grant = OperatorRole | 'export';

/** `by_token`: a token does not give it; `sign_in_again`: the session is too old. */
export type GrantRefusal = 'by_token' | 'sign_in_again';

/** For how long after a sign-in a session counts as a new one. */
export const NEW_SIGN_IN_MS = 5 * 60_000;

/** Why an actor may not give a right; `null` if it may. Whether it may change anything at all is decided before. */
export function refusalOfGrant(actor: Actor, grant: Grant | null, nowMs: number): GrantRefusal | null {
  if (grant === null || actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token') return grant === 'export' && actor.scopes.includes('export') ? null : 'by_token';
  if (actor.kind !== 'user') return 'by_token';
  if (grant === 'auditor') return null;
  const { authenticatedAtMs } = actor;
  const isNew = authenticatedAtMs !== null && nowMs - authenticatedAtMs < NEW_SIGN_IN_MS;
  return isNew ? null : 'sign_in_again';
}

/** The members of a user that decide which right a change of it gives. */
interface GrantedUser {
  readonly name: string;
  readonly email: string | null;
  readonly operatorRole: OperatorRole | null;
  readonly status: UserStatus;
}

/**
 * The right that a change of a user gives: its new role, or its present role if the change lets another person sign in as this user. To take a
 * role away gives nothing.
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
