import type { AccountRole, Actor, OperatorRole } from './actor.ts';

/**
 * Access that an endpoint of the admin API requires: `read` for operators and auditors, `change` for operators, `operator_person` for
 * signed-in operators and the local command line, `export` for those two and tokens with the `export` scope.
 */
export type AdminNeed = 'read' | 'change' | 'operator_person' | 'export';

/**
 * Access that an endpoint of the account API requires: `member` for everyone in the account, `owner` for its owners, `person` for signed-in
 * owners (a program with a key must not invite people).
 */
export type AccountNeed = 'member' | 'owner' | 'person';

export type AdminRefusal =
  /** The credential does not belong to an operator. */
  | 'no_operator'
  /** An operator is required, and the actor is an auditor. */
  | 'role'
  /** A signed-in operator or the local command line is required. */
  | 'no_person'
  /** The token lacks the `export` scope. */
  | 'no_export'
  /** The token has no role; it can do only what its scopes allow. */
  | 'no_role';

/** Why an actor may not use an endpoint of the admin API; `null` if it may. */
export function refusalOfAdmin(actor: Actor, need: AdminNeed): AdminRefusal | null {
  if (actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token' && need === 'export') return actor.scopes.includes('export') ? null : 'no_export';
  const role = operatorRoleOf(actor);
  if (role === null) return actor.kind === 'admin_token' ? 'no_role' : 'no_operator';
  if (need !== 'read' && role !== 'operator') return 'role';
  return need === 'operator_person' && actor.kind !== 'user' ? 'no_person' : null;
}

/** Whether an actor may create somebody with this role. An actor never grants more than its own role. */
export function mayGrantRole(actor: Actor, role: OperatorRole): boolean {
  const own = actor.kind === 'command_line' ? 'operator' : operatorRoleOf(actor);
  return own === 'operator' || own === role;
}

function operatorRoleOf(actor: Actor): OperatorRole | null {
  if (actor.kind === 'admin_token') return actor.role;
  return actor.kind === 'user' ? actor.operatorRole : null;
}

export interface AccountScope {
  readonly accountId: string;
  readonly role: AccountRole;
  /** Limits the view to this user's keys, calls and usage; `null` for the whole account. */
  readonly ownUserId: string | null;
}

export type AccountRefusal =
  /** The credential belongs to nobody who has accounts. */
  | { readonly reason: 'no_account' }
  /** The user has several accounts, and the request names none. */
  | { readonly reason: 'which_account'; readonly accountIds: readonly string[] }
  /** The user is not in this account. The refusal does not reveal whether the account exists. */
  | { readonly reason: 'other_account' }
  /** Requires an owner. */
  | { readonly reason: 'role' }
  /** Requires a signed-in person. */
  | { readonly reason: 'no_person' };

/**
 * Decides the scope of a request to the account API. No other code makes this decision.
 *
 * @param asked the account named by the request; `null` if none, which is enough for an actor with one account.
 */
export function scopeOf(actor: Actor, asked: string | null, need: AccountNeed): AccountScope | AccountRefusal {
  if (actor.kind === 'api_key') {
    if (asked !== null && asked !== actor.accountId) return { reason: 'other_account' };
    if (need === 'person') return { reason: 'no_person' };
    const { accountId, userId } = actor;
    if (userId === null) return { accountId, role: 'owner', ownUserId: null };
    // This applies to keys of owners too: such a key would otherwise keep the owner's rights after the role is taken away.
    return need === 'owner' ? { reason: 'role' } : { accountId, role: 'member', ownUserId: userId };
  }
  if (actor.kind !== 'user' || actor.memberships.length === 0) return { reason: 'no_account' };
  if (asked === null && actor.memberships.length > 1) {
    return { reason: 'which_account', accountIds: actor.memberships.map(({ accountId }) => accountId) };
  }
  const membership =
    asked === null ? actor.memberships[0] : actor.memberships.find(({ accountId }) => accountId === asked);
  if (membership === undefined) return { reason: 'other_account' };
  const { accountId, role } = membership;
  if (need !== 'member' && role !== 'owner') return { reason: 'role' };
  return { accountId, role, ownUserId: role === 'member' ? actor.id : null };
}
