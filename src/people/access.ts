import type { AccountRole, Actor, OperatorRole } from './actor.ts';

/**
 * The access that an endpoint of the admin API requires. `read`: operators and auditors. `change`: operators. `operator_person`: signed-in operators
 * and the local command line. `export`: the same, and tokens with the `export` scope.
 */
export type AdminNeed = 'read' | 'change' | 'operator_person' | 'export';

/**
 * The access that an endpoint of the account API requires. `member`: everyone in the account. `owner`: its owners. `person`: signed-in owners,
 * because a program with a key must not invite people.
 */
export type AccountNeed = 'member' | 'owner' | 'person';

export type AdminRefusal =
  /** The credential does not belong to an operator. */
  | 'no_operator'
  /** The endpoint requires an operator, and the actor is an auditor. */
  | 'role'
  /** The endpoint requires a signed-in operator or the local command line. */
  | 'no_person'
  /** The token lacks the `export` scope. */
  | 'no_export'
  /** The token has no role, and its scopes do not allow this. */
  | 'no_role';

/** Returns the reason why an actor may not use an endpoint of the admin API; `null` if the actor may use it. */
export function refusalOfAdmin(actor: Actor, need: AdminNeed): AdminRefusal | null {
  if (actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token' && need === 'export') return actor.scopes.includes('export') ? null : 'no_export';
  const role = operatorRoleOf(actor);
  if (role === null) return actor.kind === 'admin_token' ? 'no_role' : 'no_operator';
  if (need !== 'read' && role !== 'operator') return 'role';
  return need === 'operator_person' && actor.kind !== 'user' ? 'no_person' : null;
}

/** Whether an actor may create a user or token with this role. An actor never grants more than its own role. */
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
  /** The user whose keys, calls and usage are visible; `null`: those of the whole account are visible. */
  readonly ownUserId: string | null;
}

export type AccountRefusal =
  /** The owner of the credential has no account. */
  | { readonly reason: 'no_account' }
  /** The user has several accounts, and the request does not name one. */
  | { readonly reason: 'which_account'; readonly accountIds: readonly string[] }
  /** The user is not a member of this account. The refusal does not reveal whether the account exists. */
  | { readonly reason: 'other_account' }
  /** The endpoint requires an owner of the account. */
  | { readonly reason: 'role' }
  /** The endpoint requires a signed-in user. */
  | { readonly reason: 'no_person' };

/**
 * Decides the scope of a request to the account API. No other code makes this decision.
 *
 * @param asked the account that the request names; `null` if it names none, which is enough for an actor with one account.
 */
export function scopeOf(actor: Actor, asked: string | null, need: AccountNeed): AccountScope | AccountRefusal {
  if (actor.kind === 'api_key') {
    if (asked !== null && asked !== actor.accountId) return { reason: 'other_account' };
    if (need === 'person') return { reason: 'no_person' };
    const { accountId, userId } = actor;
    if (userId === null) return { accountId, role: 'owner', ownUserId: null };
    // A key of an owner gets the role `member` too. Otherwise it would keep the owner's rights after the owner has lost the role.
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
