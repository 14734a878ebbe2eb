import type { Actor, OperatorRole } from './actor.ts';
import type { UserStatus } from './user.ts';

/**
 * A right that an admin action gives to somebody: a user's role, access as a user with that role, or an export of the database. Users can
 * do more than tokens, so a token never creates an operator or gives a role to an existing user. A session gives operator rights only
 * shortly after a sign-in, because a cookie can leak.
 */
export type Grant = OperatorRole | 'export';

export type GrantRefusal = 'by_token' | 'sign_in_again';

/** How long after a sign-in a session may give operator rights. */
export const NEW_SIGN_IN_MS = 5 * 60_000;

/** Returns why an actor may not give a right; `null` if it may. The caller has checked that the actor may make changes. */
export function refusalOfGrant(actor: Actor, grant: Grant | null, nowMs: number): GrantRefusal | null {
  if (grant === null || actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token') return grant === 'export' && actor.scopes.includes('export') ? null : 'by_token';
  if (actor.kind !== 'user') return 'by_token';
  if (grant === 'auditor') return null;
  const { authenticatedAtMs } = actor;
  const isNew = authenticatedAtMs !== null && nowMs - authenticatedAtMs < NEW_SIGN_IN_MS;
  return isNew ? null : 'sign_in_again';
}

interface GrantedUser {
  readonly name: string;
  readonly email: string | null;
  readonly operatorRole: OperatorRole | null;
  readonly status: UserStatus;
}

/** Returns the right that a change of a user gives: a new role, or the present one if somebody else can then sign in as this user. */
export function grantOfChange(user: GrantedUser, changed: GrantedUser): Grant | null {
  const { operatorRole } = changed;
  if (operatorRole === null || changed.status !== 'active') return null;
  const isLess = user.operatorRole === 'operator' && operatorRole === 'auditor';
  const hasRole = user.operatorRole === operatorRole || isLess;
  const signsInAlike =
    user.email === changed.email && (changed.email !== null || user.name === changed.name) && user.status === 'active';
  return hasRole && signsInAlike ? null : operatorRole;
}
